import type { Random } from '../../support/random.ts';
import { oneIn, weighted } from './draw.ts';
import { SQL_WORDS } from './sql-words.ts';

/** What every JavaScript object has, or what the language looks for on one. Most often what no assignment makes. */
const OF_OBJECTS = [
  ...Array.from({ length: 6 }, () => '__proto__'),
  ...Object.getOwnPropertyNames(Object.prototype),
  'prototype',
  'toJSON',
  'then',
  'length',
  'name',
  'get',
  'set',
];

/** Columns and tables, words of SQL, and short aliases such as statements are written with. */
const OF_SQL = [
  'id,created_at,author_id,post_id,user_id,createdAt,authorId,position,name,email,title,body,tags,posts,users,comments',
  'r1,r1o,r2,r1s,t,t1,b,b1,s,s1,w,w1,m1,m2,o,o1,p,p1,c,c1,e1,f1,n,n1,k,j,x,i,data,size,rows,row,item,items,list,v,value',
  'select,from,where,order,group,limit,offset,null,true,false,user,table,join,lateral,json,text,length,coalesce,count',
].flatMap((names) => names.split(','));

/** Words of GraphQL, and of the envelope of its responses. */
const OF_GRAPHQL = [
  'query,mutation,subscription,fragment,on,schema,type,input,data,errors,extensions,path,message,locations,code',
  'node,nodes,edge,edges,cursor,pageInfo,hasNextPage,endCursor,__typename,__schema,__type,if,skip,include,variables',
].flatMap((names) => names.split(','));

/** Names that differ in one letter, in case or by what a careless join of them would lose. */
const TWINS = 'ab,aB,Ab,AB,a_b,a__b,_ab,ab_,abc,a,b,a1,a11,a_1,a1_1,aa,_,__,___,_0,x1y,x1,y,x11y'.split(',');

/** Longer than the 63 bytes that PostgreSQL keeps of a name. */
const PREFIX = 'long_name_that_is_longer_than_what_a_database_keeps_of_any_name';

function long(random: Random): string {
  const prefix = PREFIX.slice(0, 61 + random.below(4)).padEnd(61 + random.below(4), '_');
  return `${prefix}${random.pick(['', 'a', 'b', 'A', '1', '_1', 'ab'])}`;
}

/** At the edge of what a name may have, and far past it. */
const huge = (random: Random) => 'n'.repeat(random.pick([98, 99, 100, 100, 101, 10_000]));

export type NameStyle =
  | 'plain'
  | 'objects'
  | 'sql'
  | 'source'
  | 'graphql'
  | 'twins'
  | 'long'
  | 'fields'
  | 'huge';

/** The kinds of names that one document has. Names that are rejected for their length are few. */
export function randomStyles(random: Random): readonly NameStyle[] {
  const style = () =>
    weighted<NameStyle>(random, [
      [6, 'plain'],
      [4, 'objects'],
      [4, 'sql'],
      [3, 'source'],
      [2, 'graphql'],
      [3, 'twins'],
      [2, 'long'],
      [2, 'fields'],
    ]);
  return oneIn(random, 60) ? [style(), 'huge'] : [style(), style()];
}

/** Makes names of some styles. `fields` are those of the schema. */
export class Names {
  readonly #random: Random;
  readonly #styles: readonly NameStyle[];
  readonly #fields: readonly string[];
  readonly #given: string[] = [];
  #count = 0;

  constructor(random: Random, styles: readonly NameStyle[], fields: readonly string[]) {
    this.#random = random;
    this.#styles = styles;
    this.#fields = fields;
  }

  /** Any name, often one that stands elsewhere in the document: what has one name is easily taken for one thing. */
  any(): string {
    if (this.#given.length > 0 && oneIn(this.#random, 3)) return this.#random.pick(this.#given);
    const name = this.#another();
    this.#given.push(name);
    return name;
  }

  #another(): string {
    const random = this.#random;
    const style = random.pick(this.#styles);
    if (style === 'objects') return random.pick(OF_OBJECTS);
    if (style === 'sql') return random.pick(OF_SQL);
    if (style === 'source') return random.pick(SQL_WORDS);
    if (style === 'graphql') return random.pick(OF_GRAPHQL);
    if (style === 'twins') return random.pick(TWINS);
    if (style === 'long') return long(random);
    if (style === 'fields') return random.pick(this.#fields);
    if (style === 'huge' && oneIn(random, 3)) return huge(random);
    return `${String.fromCharCode(97 + random.below(26))}${random.below(9)}`;
  }

  /** A name that is not taken, and that no grammar forbids. */
  fresh(taken: { has(name: string): boolean }): string {
    for (let tries = 0; tries < 5; tries += 1) {
      const name = this.any();
      if (!taken.has(name) && name !== 'on') return name;
    }
    for (;;) {
      this.#count += 1;
      const name = `u${this.#count}`;
      if (!taken.has(name)) return name;
    }
  }
}
