-- The search index and the counts of tags. The service fills both from the posts and then follows the event log.

-- CreateTable
CREATE TABLE "search_entries" (
    "post_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "bucket" INTEGER NOT NULL,
    "version" INTEGER NOT NULL,
    "tags" TEXT[],
    "document" tsvector NOT NULL,

    CONSTRAINT "search_entries_pkey" PRIMARY KEY ("post_id")
);

-- CreateTable
CREATE TABLE "search_buckets" (
    "bucket" INTEGER NOT NULL,
    "from_at" TIMESTAMPTZ(3) NOT NULL,
    "from_id" UUID NOT NULL,

    CONSTRAINT "search_buckets_pkey" PRIMARY KEY ("bucket")
);

-- CreateTable
CREATE TABLE "search_position" (
    "id" SMALLINT NOT NULL DEFAULT 1,
    "revision" BIGINT NOT NULL,
    "generation" TEXT NOT NULL,
    "event_id" BIGINT NOT NULL,
    "event_checksum" TEXT NOT NULL,
    "newest_at" TIMESTAMPTZ(3),
    "newest_id" UUID,
    "newest_posts" INTEGER NOT NULL,
    "phase" TEXT,
    "phase_at" TIMESTAMPTZ(3),
    "phase_id" UUID,
    "rewrites" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "search_position_pkey" PRIMARY KEY ("id")
);

-- CreateTable
-- The order of bytes, so that the index finds the names with a prefix.
CREATE TABLE "tag_counts" (
    "name" TEXT COLLATE "C" NOT NULL,
    "post_count" INTEGER NOT NULL,

    CONSTRAINT "tag_counts_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
-- A pending list would make every search read it, and one unlucky batch would write all of it.
CREATE INDEX "search_entries_document_idx" ON "search_entries" USING GIN ("document") WITH (fastupdate = off);

-- CreateIndex
CREATE UNIQUE INDEX "search_buckets_from_at_from_id_key" ON "search_buckets"("from_at", "from_id");

-- CreateIndex
CREATE INDEX "tag_counts_post_count_name_idx" ON "tag_counts"("post_count" DESC, "name");

-- Walks the buckets from the newest to the oldest until `p_limit` entries are found, or a limit is reached. No bucket has
-- many more than 4,096 entries, so no word is expensive. The last row is where a walk has stopped early: the lowest
-- position of the last bucket. `~` stands for the bucket in `p_words`, which needs the index only, and in `p_phrases`.
-- Sessions turn bitmap scans off, which this index needs. A plan from a time without entries would read all entries. Each
-- OFFSET 0 keeps PostgreSQL from choosing another index, or from computing a tsquery for each row.
CREATE FUNCTION search_walk(p_words text, p_phrases text, p_buckets int, p_at timestamptz, p_id uuid, p_limit int)
RETURNS TABLE (id uuid, created_at timestamptz, is_found boolean, is_last boolean)
LANGUAGE plpgsql STABLE ROWS 21 SET enable_bitmapscan = on SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY WITH RECURSIVE walk(bucket, found, steps, entries, ids) AS (
    SELECT CASE WHEN p_words IS NULL THEN 0 ELSE coalesce((
        SELECT b.bucket FROM search_buckets b WHERE (b.from_at, b.from_id) < (p_at, p_id) ORDER BY b.from_at DESC, b.from_id DESC LIMIT 1
      ), -1) + 1 END, 0, 0, 0::bigint, NULL::uuid[]
    UNION ALL
    SELECT w.bucket - 1, w.found + s.found, w.steps + 1, w.entries + s.entries, s.ids
    FROM walk w CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE e.matches)::int AS found, count(*) AS entries,
        (array_agg(e.post_id ORDER BY e.created_at DESC, e.post_id DESC) FILTER (WHERE e.matches))[1:p_limit] AS ids
      FROM (SELECT c.created_at, c.post_id, (q.phrases IS NULL OR c.document @@ q.phrases) AND (c.created_at, c.post_id) < (p_at, p_id) AS matches
        FROM (SELECT replace(p_words, '~', (w.bucket - 1) || '/')::tsquery AS words,
            replace(p_phrases, '~', (w.bucket - 1) || '/')::tsquery AS phrases OFFSET 0) AS q
        CROSS JOIN LATERAL (SELECT * FROM search_entries WHERE document @@ q.words OFFSET 0) AS c OFFSET 0) AS e) AS s
    WHERE w.found < p_limit AND w.bucket > 0 AND w.steps < p_buckets AND w.entries < 4000),
  stop AS (SELECT min(bucket) AS bucket, max(found) AS found FROM walk),
  rows AS (
    SELECT e.post_id, e.created_at, f.n, true AS is_found, f.n = p_limit AS is_last
    FROM (SELECT i.id, row_number() OVER (ORDER BY w.steps, i.n) AS n FROM walk w, unnest(w.ids) WITH ORDINALITY AS i(id, n)
      ORDER BY 2 LIMIT p_limit) AS f JOIN search_entries e ON e.post_id = f.id
    UNION ALL
    SELECT b.from_id, b.from_at, p_limit + 1, false, true
    FROM stop JOIN search_buckets b ON b.bucket = stop.bucket WHERE stop.bucket > 0 AND stop.found < p_limit)
  SELECT post_id, created_at, is_found, is_last FROM rows ORDER BY n;
END $$;
