import { Injectable } from '@nestjs/common';
import { empty, join, sql, type Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../../resources';
import { USER_ATTRIBUTES } from '../deletion/refusals';

/** Sources per batch. */
const BATCH = 1_000;

/**
 * Deletes the resources and scopes that name an end user, which only processes of this user send. Records of other users keep
 * theirs.
 */
@Injectable()
export class NamedSourcesRepository implements ErasureStep {
  readonly name = 'sources';
  readonly subjects = ['end_user'] as const;
  readonly phase = 'copies';

  constructor(steps: ErasureSteps) {
    steps.add(this);
  }

  async run(tx: Tx, { workspaceId, id, isDryRun }: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const after = cursor === null ? empty : sql` AND source_id > ${cursor}::uuid`;
    const [last] = await tx.query<{ source_id: string }>(
      sql`SELECT source_id FROM span_sources WHERE workspace_id = ${workspaceId}${after}
        ORDER BY source_id OFFSET ${BATCH - 1} LIMIT 1`,
    );
    const to = last ? sql` AND source_id <= ${last.source_id}::uuid` : empty;
    const names = join(
      USER_ATTRIBUTES.flatMap((name) => [
        sql`resource -> 'attributes' ->> ${name}::text = ${id}`,
        sql`scope -> 'attributes' ->> ${name}::text = ${id}`,
      ]),
      ' OR ',
      '(',
      ')',
    );
    const which = sql`workspace_id = ${workspaceId}${after}${to} AND ${names}`;
    const [row] = await tx.query<{ count: number }>(
      isDryRun
        ? sql`SELECT count(*) AS count FROM span_sources WHERE ${which}`
        : sql`WITH deleted AS (DELETE FROM span_sources WHERE ${which} RETURNING 1)
            SELECT count(*) AS count FROM deleted`,
    );
    return { counts: { [this.name]: row!.count }, next: last?.source_id ?? null };
  }
}
