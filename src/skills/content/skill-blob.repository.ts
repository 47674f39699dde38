import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { BulkColumns, sql, type SqlExecutor, type Tx } from '#platform/db';
import type { SkillFile } from '../format/skill-files';

/** A file with its content. */
export type FileWithContent = SkillFile & { content: Buffer };

const BLOBS = new BulkColumns<FileWithContent>([
  { name: 'sha256', type: 'text', value: ({ sha256 }) => sha256 },
  { name: 'data', type: 'bytea', value: ({ content }) => content },
]);

/** Stores file contents, each once per organization. */
@Injectable()
export class SkillBlobRepository {
  /**
   * Returns which of these digests, in hexadecimal, have a stored content in the organization. These contents stay until the
   * transaction ends.
   */
  async storedDigests(tx: Tx, scope: OrgScope, digests: readonly string[]): Promise<Set<string>> {
    const rows = await tx.query<{ sha256: string }>(
      sql`SELECT sha256 FROM skill_blobs WHERE org_id = ${scope.orgId} AND sha256 = ANY (${digests}::text[])
        ORDER BY sha256 FOR KEY SHARE`,
    );
    return new Set(rows.map(({ sha256 }) => sha256));
  }

  /**
   * Deletes those contents that no file refers to. Locks them first, in a statement of its own, so that the second one sees the
   * files of a transaction that has just stored the same contents.
   *
   * @returns the number of the contents, and of their bytes
   */
  async release(
    tx: Tx,
    { orgId }: Pick<OrgScope, 'orgId'>,
    digests: readonly string[],
  ): Promise<{ count: number; bytes: number }> {
    await tx.query(
      sql`SELECT 1 FROM skill_blobs WHERE org_id = ${orgId} AND sha256 = ANY (${digests}::text[])
        ORDER BY sha256 FOR UPDATE`,
    );
    const released = await tx.query<{ bytes: number }>(
      sql`DELETE FROM skill_blobs WHERE org_id = ${orgId} AND sha256 = ANY (${digests}::text[])
          AND NOT EXISTS (SELECT FROM skill_files f WHERE f.org_id = skill_blobs.org_id AND f.sha256 = skill_blobs.sha256)
        RETURNING octet_length(data) AS bytes`,
    );
    return { count: released.length, bytes: released.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  /** Returns the digests of an organization's contents after one, in order. */
  async list(tx: Tx, { orgId }: Pick<OrgScope, 'orgId'>, after: string, limit: number): Promise<string[]> {
    const rows = await tx.query<{ sha256: string }>(
      sql`SELECT sha256 FROM skill_blobs WHERE org_id = ${orgId} AND sha256 > ${after} ORDER BY sha256 LIMIT ${limit}`,
    );
    return rows.map(({ sha256 }) => sha256);
  }

  /**
   * Inserts contents, and returns the bytes of those that the organization did not have.
   *
   * @param files with distinct contents, sorted by digest so that concurrent inserts do not deadlock
   */
  async insertMany(tx: Tx, scope: OrgScope, files: readonly FileWithContent[]): Promise<number> {
    const inserted = await tx.query<{ bytes: number }>(
      sql`INSERT INTO skill_blobs (org_id, sha256, data)
        SELECT ${scope.orgId}, sha256, data FROM ${BLOBS.table(files, 'input')}
        ON CONFLICT DO NOTHING RETURNING octet_length(data) AS bytes`,
    );
    return inserted.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async contents(on: SqlExecutor, scope: OrgScope, digests: readonly string[]): Promise<Map<string, Buffer>> {
    const rows = await on.query<{ sha256: string; data: Buffer }>(
      sql`SELECT sha256, data FROM skill_blobs
        WHERE org_id = ${scope.orgId} AND sha256 = ANY (${digests}::text[])`,
    );
    return new Map(rows.map(({ sha256, data }) => [sha256, data]));
  }

  /** Returns the first bytes of each content, by digest. */
  async prefixes(
    on: SqlExecutor,
    scope: OrgScope,
    digests: readonly string[],
    bytes: number,
  ): Promise<Map<string, Buffer>> {
    const rows = await on.query<{ sha256: string; prefix: Buffer }>(
      sql`SELECT sha256, substring(data FROM 1 FOR ${bytes}) AS prefix FROM skill_blobs
        WHERE org_id = ${scope.orgId} AND sha256 = ANY (${digests}::text[])`,
    );
    return new Map(rows.map(({ sha256, prefix }) => [sha256, prefix]));
  }

  /** Returns a range of the bytes of a content, or no bytes if the content is missing. */
  async range(
    on: SqlExecutor,
    scope: OrgScope,
    sha256: string,
    from: number,
    bytes: number,
  ): Promise<Buffer> {
    const [row] = await on.query<{ chunk: Buffer }>(
      sql`SELECT substring(data FROM ${from + 1} FOR ${bytes}) AS chunk FROM skill_blobs
        WHERE org_id = ${scope.orgId} AND sha256 = ${sha256}`,
    );
    return row?.chunk ?? Buffer.alloc(0);
  }
}
