import { v7 } from 'uuid';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A UUIDv7 (RFC 9562 section 5.7): later ones of this process sort after earlier ones. */
export function newId(): string {
  return v7();
}

/** Whether PostgreSQL's uuid type takes the string in the form that this service prints. */
export function isUuid(value: string): boolean {
  return UUID.test(value);
}
