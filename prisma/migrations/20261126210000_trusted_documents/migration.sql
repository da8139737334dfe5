-- Published documents, who published them, and which texts clients send that are not published.

-- CreateTable
CREATE TABLE "trusted_documents" (
    "id" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "operation_name" TEXT,
    "schema" BYTEA NOT NULL,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "trusted_documents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "document_publications" (
    "document_id" TEXT NOT NULL,
    "client" TEXT NOT NULL,
    "release" TEXT NOT NULL DEFAULT '',
    "published_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "document_publications_pkey" PRIMARY KEY ("document_id","client","release")
);

-- CreateTable
CREATE TABLE "text_uses" (
    "client" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "kind" TEXT NOT NULL,
    "operation_name" TEXT,
    "count" BIGINT NOT NULL,
    "first_used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "text_uses_pkey" PRIMARY KEY ("client","digest")
);

-- CreateIndex
CREATE INDEX "trusted_documents_digest_idx" ON "trusted_documents"("digest");

-- CreateIndex
CREATE INDEX "document_publications_client_release_idx" ON "document_publications"("client", "release");

-- CreateIndex
CREATE INDEX "text_uses_last_used_at_idx" ON "text_uses"("last_used_at");

-- AddForeignKey
ALTER TABLE "document_publications" ADD CONSTRAINT "document_publications_document_id_fkey" FOREIGN KEY ("document_id") REFERENCES "trusted_documents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN     "documents" TEXT;

-- AlterTable
ALTER TABLE "oauth_clients" ADD COLUMN     "documents" TEXT;
