import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { arrayParameter, type SqlExecutor, type Tx } from '#platform/db';
import type { SkillFile } from '../format/skill-files';

/** A file whose content came with it. */
export type FileWithContent = SkillFile & { content: Buffer };

/** Contents of files, each once in an organization. They are kept for good, because versions are. */
@Injectable()
export class SkillBlobRepository {
  /** Which of these the organization keeps. @param digests of contents, in hexadecimal */
  async known(on: SqlExecutor, scope: OrgScope, digests: readonly string[]): Promise<Set<string>> {
    const rows = await on.query<{ sha256: string }>(
      'SELECT sha256 FROM skill_blobs WHERE org_id = $1 AND sha256 = ANY ($2)',
      [scope.orgId, digests],
    );
    return new Set(rows.map(({ sha256 }) => sha256));
  }

  /** @param files of different contents, in the order of their digests, so that no two wait for each other */
  async insertMany(tx: Tx, scope: OrgScope, files: readonly FileWithContent[]): Promise<void> {
    await tx.query(
      `INSERT INTO skill_blobs (org_id, sha256, data)
       SELECT $1, sha256, data FROM unnest($2::text[], $3::bytea[]) AS given(sha256, data)
       ON CONFLICT DO NOTHING`,
      [
        scope.orgId,
        files.map(({ sha256 }) => sha256),
        arrayParameter(
          'bytea',
          files.map(({ content }) => content),
        ),
      ],
    );
  }

  async contents(on: SqlExecutor, scope: OrgScope, digests: readonly string[]): Promise<Map<string, Buffer>> {
    const rows = await on.query<{ sha256: string; data: Buffer }>(
      'SELECT sha256, data FROM skill_blobs WHERE org_id = $1 AND sha256 = ANY ($2)',
      [scope.orgId, digests],
    );
    return new Map(rows.map(({ sha256, data }) => [sha256, data]));
  }

  /** So many bytes of a content, from one on; empty where it is not kept. */
  async piece(
    on: SqlExecutor,
    scope: OrgScope,
    sha256: string,
    from: number,
    bytes: number,
  ): Promise<Buffer> {
    const [row] = await on.query<{ piece: Buffer }>(
      'SELECT substring(data FROM $3 FOR $4) AS piece FROM skill_blobs WHERE org_id = $1 AND sha256 = $2',
      [scope.orgId, sha256, from + 1, bytes],
    );
    return row?.piece ?? Buffer.alloc(0);
  }
}
