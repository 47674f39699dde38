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

/** Stores file contents, each once per organization. Contents are never deleted, because versions are not. */
@Injectable()
export class SkillBlobRepository {
  /** Returns which of these digests, in hexadecimal, have a stored content in the organization. */
  async storedDigests(on: SqlExecutor, scope: OrgScope, digests: readonly string[]): Promise<Set<string>> {
    const rows = await on.query<{ sha256: string }>(
      sql`SELECT sha256 FROM skill_blobs WHERE org_id = ${scope.orgId} AND sha256 = ANY (${digests}::text[])`,
    );
    return new Set(rows.map(({ sha256 }) => sha256));
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
