-- CreateTable
CREATE TABLE "demo_seed" (
    "id" SMALLINT NOT NULL DEFAULT 1,
    "seeded_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "demo_seed_pkey" PRIMARY KEY ("id")
);

-- Databases that were seeded before there was this table: the demo key is a member's named Demo, Ada's.
INSERT INTO "demo_seed" ("id")
SELECT 1 WHERE EXISTS (
    SELECT FROM "api_keys" "k" JOIN "users" "u" ON "u"."id" = "k"."user_id"
    WHERE "k"."name" = 'Demo' AND "u"."email_key" = 'ada@example.com'
);
