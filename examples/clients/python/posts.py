"""posts.py list TAG | create TASK TITLE | follow FILE. Needs ORIGIN and KEY."""

import json
import os
import sys
from pathlib import Path

from content_graph import ContentGraph

POSTS = """query ($tag: String!, $after: String) {
  postsConnection(first: 50, after: $after, tag: $tag) { nodes { title } pageInfo { hasNextPage endCursor } }
}"""
CREATE = "mutation ($title: String!) { createPost(title: $title, body: \"Written in Python.\") { id } }"
CHANGES = "subscription { changes { kind postId post { title } } }"


def follow(api: ContentGraph, file: Path) -> None:
    """Prints each change, and goes on after the last one that it printed, even when it is started again."""
    last_id = file.read_text() if file.exists() else None
    for event_id, data in api.subscribe(CHANGES, last_id):
        if data is not None:
            print(json.dumps(data["changes"]), flush=True)
        # After the change was printed: whoever is killed in between prints it again, and none is lost.
        file.with_suffix(".new").write_text(event_id)
        file.with_suffix(".new").replace(file)


def main(command: str, *args: str) -> None:
    api = ContentGraph(f"{os.environ['ORIGIN']}/graphql", os.environ["KEY"])
    if command == "list":
        for post in api.pages(POSTS, lambda data: data["postsConnection"], tag=args[0]):
            print(post["title"])
    elif command == "create":
        task, title = args
        print(api.mutate(CREATE, task, title=title)["createPost"]["id"])
    elif command == "follow":
        follow(api, Path(args[0]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
