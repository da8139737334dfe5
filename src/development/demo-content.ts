/** The demo data of a first start in development. Times are in minutes before the start. */
export const DEMO_USERS = [
  { name: 'Ada', email: 'ada@example.com' },
  { name: 'Linus', email: 'linus@example.com' },
  { name: 'Grace', email: 'grace@example.com' },
] as const;

export type DemoName = (typeof DEMO_USERS)[number]['name'];

export interface DemoPost {
  readonly author: DemoName;
  readonly title: string;
  readonly body: string;
  readonly tags: readonly string[];
  readonly minutesAgo: number;
  readonly comments: readonly (readonly [DemoName, string])[];
}

export const DEMO_POSTS: readonly DemoPost[] = [
  {
    author: 'Ada',
    title: 'Notes on the Analytical Engine',
    body: 'The engine weaves algebraic patterns just as the loom weaves flowers and leaves. It has no pretensions to originate anything: it does whatever we know how to order it to perform.',
    tags: ['computing', 'history'],
    minutesAgo: 5_000,
    comments: [
      ['Grace', 'The footnotes of this one are where it all begins.'],
      ['Linus', 'Does it run?'],
      ['Ada', 'On paper, flawlessly.'],
    ],
  },
  {
    author: 'Grace',
    title: 'A moth in relay 70',
    body: 'Found at 15:45, taped into the log book. The first actual case of a bug being found. We are debugging the machine.',
    tags: ['computing', 'debugging'],
    minutesAgo: 4_200,
    comments: [
      ['Ada', 'A name that will stick.'],
      ['Linus', 'Reproducible?'],
    ],
  },
  {
    author: 'Linus',
    title: 'Just a hobby, will not be big',
    body: 'I am doing a free operating system. It has been brewing since April and is starting to get ready. I would like any feedback on what people want in it.',
    tags: ['operating systems', 'open source'],
    minutesAgo: 3_600,
    comments: [
      ['Grace', 'Ship it, then apologise.'],
      ['Ada', 'What does it compute?'],
    ],
  },
  {
    author: 'Grace',
    title: 'Why a nanosecond is 30 centimetres',
    body: 'I hand out pieces of wire as long as light travels in a nanosecond. People ask why satellites answer so late: there are very many nanoseconds between here and there.',
    tags: ['teaching', 'latency'],
    minutesAgo: 2_100,
    comments: [['Linus', 'Printing this for the office.']],
  },
  {
    author: 'Ada',
    title: 'On loops',
    body: 'A cycle of operations is any set of operations that is repeated more than once. It is equally a cycle whether repeated twice only, or an indefinite number of times.',
    tags: ['computing'],
    minutesAgo: 900,
    comments: [],
  },
  {
    author: 'Linus',
    title: 'Good taste in linked lists',
    body: 'Sometimes a problem can be looked at from another side so that the special case goes away and becomes the normal case. That is good code.',
    tags: ['code', 'open source'],
    minutesAgo: 45,
    comments: [
      ['Ada', 'The pointer to the pointer is lovely.'],
      ['Grace', 'Readable, too.'],
    ],
  },
];
