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
];
