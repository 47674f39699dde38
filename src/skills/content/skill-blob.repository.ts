import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { arrayParameter, sql, type SqlExecutor, type Tx } from '#platform/db';
import type { SkillFile } from '../format/skill-files';

/** A file with its content. */
export type FileWithContent = SkillFile & { content: Buffer };

/** Contents of files, each stored once in an organization, and never deleted because versions are not. */
@Injectable()
export class SkillBlobRepository {
  /** Returns the digests, in hexadecimal, of contents that the organization has. */
  async known(on: SqlExecutor, scope: OrgScope, digests: readonly string[]): Promise<Set<string>> {
    const rows = await on.query<{ sha256: string }>(
      sql`SELECT sha256 FROM skill_blobs WHERE org_id = ${scope.orgId} AND sha256 = ANY (${digests}::text[])`,
    );
    return new Set(rows.map(({ sha256 }) => sha256));
  }

  /** @param files with distinct contents, sorted by digest so that concurrent inserts do not deadlock */
  async insertMany(tx: Tx, scope: OrgScope, files: readonly FileWithContent[]): Promise<void> {
    const digests = files.map(({ sha256 }) => sha256);
    const data = arrayParameter(
      'bytea',
      files.map(({ content }) => content),
    );
    await tx.query(
      sql`INSERT INTO skill_blobs (org_id, sha256, data)
        SELECT ${scope.orgId}, sha256, data FROM unnest(${digests}::text[], ${data}::bytea[]) AS given(sha256, data)
        ON CONFLICT DO NOTHING`,
    );
  }

  async contents(on: SqlExecutor, scope: OrgScope, digests: readonly string[]): Promise<Map<string, Buffer>> {
    const rows = await on.query<{ sha256: string; data: Buffer }>(
      sql`SELECT sha256, data FROM skill_blobs
        WHERE org_id = ${scope.orgId} AND sha256 = ANY (${digests}::text[])`,
    );
    return new Map(rows.map(({ sha256, data }) => [sha256, data]));
  }

  /** Returns the first bytes of each content. */
  async beginnings(
    on: SqlExecutor,
    scope: OrgScope,
    digests: readonly string[],
    bytes: number,
  ): Promise<Map<string, Buffer>> {
    const rows = await on.query<{ sha256: string; piece: Buffer }>(
      sql`SELECT sha256, substring(data FROM 1 FOR ${bytes}) AS piece FROM skill_blobs
        WHERE org_id = ${scope.orgId} AND sha256 = ANY (${digests}::text[])`,
    );
    return new Map(rows.map(({ sha256, piece }) => [sha256, piece]));
  }

  /** Returns a range of the bytes of a content, or no bytes if it is missing. */
  async piece(
    on: SqlExecutor,
    scope: OrgScope,
    sha256: string,
    from: number,
    bytes: number,
  ): Promise<Buffer> {
    const [row] = await on.query<{ piece: Buffer }>(
      sql`SELECT substring(data FROM ${from + 1} FOR ${bytes}) AS piece FROM skill_blobs
        WHERE org_id = ${scope.orgId} AND sha256 = ${sha256}`,
    );
    return row?.piece ?? Buffer.alloc(0);
  }
}
