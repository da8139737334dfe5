#!/bin/sh
# Prints each change of a post, and goes on after the last one that it printed, even when it is started again:
# follow-posts.sh FILE, which keeps the id of the last event. Ends if the service refuses. Needs ORIGIN and KEY.
set -eu
touch "$1"
while
  last=$(cat "$1")
  curl -sSN "$ORIGIN/graphql${last:+?lastEventId=$last}" -w 'status: %{http_code}\n' \
    -H "Authorization: Bearer $KEY" -H 'Accept: text/event-stream' -H 'Content-Type: application/json' \
    -d '{"query":"subscription { changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) { kind postId post { id title } } }"}' |
    while IFS= read -r line; do
      case $line in
        'id: '*) id=${line#id: } ;;
        'data: '*) data=${line#data: } ;;
        '') # The event is complete. One that was cut off is sent again.
          if [ -n "${data:-}" ]; then printf '%s\n' "$data"; fi
          if [ -n "${id:-}" ]; then printf '%s' "$id" >"$1.new" && mv "$1.new" "$1"; fi
          data='' ;;
        *'status: 429') sleep 5 ;;
        'event: complete' | *'status: 4'??) exit 1 ;;
      esac
    done
do sleep 1; done
exit 1
