-- Who has changed what: admin commands, admins, and owners of accounts.

-- CreateTable
CREATE TABLE "audit_log" (
    "id" BIGSERIAL NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "actor_id" UUID,
    "via" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "subject" TEXT,
    "account_id" UUID,
    "detail" JSONB NOT NULL,
    "request_id" TEXT,
    "number" INTEGER,

    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "audit_log_at_idx" ON "audit_log"("at");

-- CreateIndex
CREATE INDEX "audit_log_actor_id_id_idx" ON "audit_log"("actor_id", "id");

-- CreateIndex
CREATE INDEX "audit_log_subject_idx" ON "audit_log"("subject");

-- CreateIndex
CREATE INDEX "audit_log_account_id_idx" ON "audit_log"("account_id");
