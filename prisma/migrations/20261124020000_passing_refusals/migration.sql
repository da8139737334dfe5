-- Earlier versions stored refusals of the moment and of the credentials under a key. Nothing was done: a retry may do it now.
DELETE FROM "idempotency_keys" WHERE "status" IN (401, 429, 503);
