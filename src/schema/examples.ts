/** Lines are short, so that the play button of GraphiQL covers none. */
export const EXAMPLES = [
  {
    name: 'Posts',
    query: `# Press the play button (or Ctrl-Enter):
# posts, authors and comments in one request.
query Posts {
  posts(limit: 5) {
    title
    tags
    author {
      name
    }
    comments(limit: 2) {
      body
      author {
        name
      }
    }
  }
}
`,
  },
  {
    name: 'NewPosts',
    // GraphiQL stops a subscription when another tab is opened.
    query: `# Press play and leave it running. Posts created
# in a second window show up here immediately.
subscription NewPosts {
  postCreated {
    id
    title
    author {
      name
    }
  }
}
`,
  },
  {
    name: 'CreatePost',
    query: `# Run it while "NewPosts" runs in another window.
mutation CreatePost($title: String!) {
  createPost(
    title: $title
    body: "Written in the browser."
    tags: ["hello"]
  ) {
    id
    title
    createdAt
  }
}
`,
    variables: '{\n  "title": "Hello from GraphiQL"\n}',
  },
  {
    name: 'PostsPage',
    query: `# Copy "endCursor" into the variable "after"
# to get the next page.
query PostsPage($after: String) {
  postsConnection(first: 3, after: $after) {
    edges {
      cursor
      node {
        title
        comments(limit: 2) {
          body
          author {
            name
          }
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`,
    variables: '{\n  "after": null\n}',
  },
  {
    name: 'PostBySlug',
    query: `# What the page of a post needs: a former slug
# finds the post, too, so compare "slug".
query PostBySlug($slug: String!) {
  postBySlug(slug: $slug) {
    slug
    title
    body
    author {
      name
      handle
      bio
    }
  }
}
`,
    variables: '{\n  "slug": "on-loops"\n}',
  },
  {
    name: 'LatestOfTag',
    query: `# What a list needs: the beginning of each post.
query LatestOfTag($filter: PostFilter) {
  postsConnection(
    first: 5
    filter: $filter
    orderBy: RECENTLY_UPDATED
  ) {
    totalCount
    nodes {
      slug
      title
      excerpt(length: 80)
      updatedAt
    }
  }
}
`,
    variables: '{\n  "filter": { "tags": ["computing"] }\n}',
  },
  {
    name: 'Search',
    query: `# Words, "phrases", -excluded words and prefixes*.
query Search($query: String!) {
  searchPosts(query: $query, first: 5) {
    nodes {
      title
      excerpt(length: 80)
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  tags(first: 5) {
    nodes {
      name
      postCount
    }
  }
}
`,
    variables: '{\n  "query": "loop*"\n}',
  },
  {
    name: 'Drafts',
    query: `# Only the account itself sees its drafts.
query Drafts {
  viewer {
    drafts(limit: 5) {
      id
      title
      version
      updatedAt
    }
  }
}
`,
  },
];
