import { SqlMigration } from './sql-migration';

/** The bytes that the service stores in its object storage. */
export class PlatformBlobs1795455000000 extends SqlMigration {
  protected readonly sql = `
    -- Objects that are being written, or that nothing refers to. Deleted in the transaction that keeps the object.
    CREATE TABLE blob_writes (
      storage_key text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL,
      -- the last heartbeat of the writer; null for an object to delete
      heartbeat_at timestamptz
    );
    -- the periodic deletion of the remains of interrupted writes
    CREATE INDEX blob_writes_by_heartbeat ON blob_writes (heartbeat_at);

    -- Complete objects. Equal bytes are stored once per organization.
    CREATE TABLE blobs (
      org_id text COLLATE "C" NOT NULL,
      sha256 text COLLATE "C" NOT NULL,
      size_bytes bigint NOT NULL,
      -- the unsigned CRC-32 of the bytes, which is checked when all of them are read
      crc32 bigint NOT NULL,
      storage_key text COLLATE "C" NOT NULL,
      PRIMARY KEY (org_id, sha256)
    );
  `;
}
