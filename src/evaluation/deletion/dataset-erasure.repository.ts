import { Injectable } from '@nestjs/common';
import { sql, type Tx } from '#platform/db';
import type { ErasureBatch, ErasureRun } from '../../resources';

const RECORDS = 1_000;
/** A row of a case is small. */
const CASES = 5_000;
/** Chunks of 64 KiB. */
const CHUNKS = 200;
const EXPERIMENTS = 1_000;

/** Deletes datasets. They are archived, so nothing is added to them, and no experiment is created over them. */
@Injectable()
export class DatasetErasureRepository {
  /** Deletes the next records with their versions, in the order of their ids. */
  async deleteRecords(tx: Tx, { workspaceId, id }: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const deleted = await tx.query<{ dataset_record_id: string }>(
      sql`DELETE FROM records WHERE dataset_record_id = ANY (ARRAY(
          SELECT dataset_record_id FROM records
          WHERE dataset_id = ${id} AND workspace_id = ${workspaceId} AND dataset_record_id > ${cursor ?? ''}
          ORDER BY dataset_record_id LIMIT ${RECORDS})) AND workspace_id = ${workspaceId}
        RETURNING dataset_record_id`,
    );
    const ids = deleted.map((row) => row.dataset_record_id).sort();
    return { counts: { records: ids.length }, next: ids.length < RECORDS ? null : ids.at(-1)! };
  }

  /** Deletes a part of the first CSV version: case ids, then bytes, and in the end the version itself. */
  async deleteVersions(tx: Tx, { workspaceId, id }: ErasureRun): Promise<ErasureBatch> {
    const [version] = await tx.query<{ version: number; content_id: number }>(
      sql`SELECT version, content_id FROM dataset_versions
        WHERE workspace_id = ${workspaceId} AND dataset_id = ${id} ORDER BY version LIMIT 1`,
    );
    if (!version) return { counts: {}, next: null };
    const isContent = sql`workspace_id = ${workspaceId} AND content_id = ${version.content_id}`;
    const cases = await tx.query(
      sql`DELETE FROM dataset_cases WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM dataset_cases WHERE ${isContent} LIMIT ${CASES})) RETURNING 1`,
    );
    if (cases.length === CASES) return { counts: {}, next: 'cases' };
    const chunks = await tx.query(
      sql`DELETE FROM dataset_chunks WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM dataset_chunks WHERE ${isContent} LIMIT ${CHUNKS})) RETURNING 1`,
    );
    if (chunks.length === CHUNKS) return { counts: {}, next: 'chunks' };
    await tx.query(
      sql`DELETE FROM dataset_versions
        WHERE workspace_id = ${workspaceId} AND dataset_id = ${id} AND version = ${version.version}`,
    );
    return { counts: { dataset_versions: 1 }, next: 'versions' };
  }

  /** Marks the experiments over a dataset, and in the end deletes its row. */
  async deleteDataset(tx: Tx, { workspaceId, id }: ErasureRun): Promise<ErasureBatch> {
    const marked = await tx.query(
      sql`UPDATE experiments SET dataset_erased = true, generation = generation + 1
        WHERE experiment_id = ANY (ARRAY(
          SELECT experiment_id FROM experiments
          WHERE workspace_id = ${workspaceId} AND dataset_id = ${id} AND NOT dataset_erased LIMIT ${EXPERIMENTS}))
        RETURNING 1`,
    );
    if (marked.length === EXPERIMENTS) return { counts: {}, next: 'experiments' };
    const deleted = await tx.query(
      sql`DELETE FROM datasets WHERE dataset_id = ${id} AND workspace_id = ${workspaceId} RETURNING 1`,
    );
    return { counts: { datasets: deleted.length }, next: null };
  }
}
