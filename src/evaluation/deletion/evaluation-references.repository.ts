import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { raw, sql, type Sql, type Tx } from '#platform/db';
import { type Reference, References, type ReferenceSource } from '../../resources';
import { MAY_BE_IN_SNAPSHOT } from '../datasets';

/** A kind of reference: its noun, and the ids of what refers to a resource. */
interface Kind {
  noun: string;
  /** Selects `id` of at most `limit` rows. */
  select: (workspaceId: string, id: string) => Sql;
  isDeletedToo?: true;
}

const OPEN = raw(`('queued', 'running')`);

/** Live experiments that pin a dataset or a part of it, under a condition. */
const experiments = (workspaceId: string, from: Sql): Sql =>
  sql`SELECT e.experiment_id AS id FROM experiments e ${from} AND e.workspace_id = ${workspaceId} AND e.archived_at IS NULL`;

const openRuns = (workspaceId: string, condition: Sql): Sql =>
  sql`SELECT r.score_run_id AS id FROM score_runs r
    WHERE r.workspace_id = ${workspaceId} AND r.run_status IN ${OPEN} AND ${condition}`;

const openBatches = (workspaceId: string, condition: Sql): Sql =>
  sql`SELECT b.score_batch_id AS id FROM score_batches b
    WHERE b.workspace_id = ${workspaceId} AND b.batch_status IN ('selecting', 'queued', 'running') AND ${condition}`;

const liveQueues = (workspaceId: string, condition: Sql): Sql =>
  sql`SELECT q.queue_id AS id FROM annotation_queues q
    WHERE q.workspace_id = ${workspaceId} AND q.archived_at IS NULL AND ${condition}`;

const EXPERIMENT = 'experiment';
const RUN = 'scoring run';
const BATCH = 'scoring batch';
const QUEUE = 'annotation queue';

/**
 * What refers to resources of evaluation, by their nouns.
 *
 * A snapshot may have 10,000 records, so it is not read. Every live experiment over all records of a dataset uses those that
 * the dataset had when the experiment was created. An experiment with a filter uses a record while it is running, and
 * afterwards if one of its results names the record.
 */
const KINDS: Readonly<Record<string, readonly Kind[]>> = {
  dataset: [
    { noun: EXPERIMENT, select: (workspace, id) => experiments(workspace, sql`WHERE e.dataset_id = ${id}`) },
  ],
  'dataset version': [
    {
      noun: EXPERIMENT,
      select: (workspace, id) =>
        experiments(
          workspace,
          sql`JOIN dataset_versions v ON v.dataset_id = e.dataset_id AND v.version = e.dataset_version
            WHERE v.version_id = ${id} AND v.workspace_id = ${workspace}`,
        ),
    },
  ],
  record: [
    {
      noun: EXPERIMENT,
      select: (workspace, id) =>
        experiments(
          workspace,
          sql`JOIN records r USING (workspace_id, dataset_id)
            WHERE r.dataset_record_id = ${id} AND r.workspace_id = ${workspace} AND ${MAY_BE_IN_SNAPSHOT}
              AND (e.dataset_filter IS NULL OR e.experiment_status = 'running' OR EXISTS (
                SELECT FROM results WHERE results.experiment_id = e.experiment_id
                  AND results.dataset_record_id = r.dataset_record_id AND results.workspace_id = e.workspace_id))`,
        ),
    },
  ],
  experiment: [
    {
      noun: EXPERIMENT,
      select: (workspace, id) => experiments(workspace, sql`WHERE e.baseline_experiment_id = ${id}`),
    },
    {
      noun: 'dataset',
      select: (workspace, id) =>
        sql`SELECT d.dataset_id AS id FROM experiments e JOIN datasets d USING (workspace_id, dataset_id)
          WHERE e.experiment_id = ${id} AND e.workspace_id = ${workspace} AND d.archived_at IS NULL
            AND d.baselines ->> e.name = e.experiment_id`,
    },
    { noun: RUN, select: (workspace, id) => openRuns(workspace, sql`r.experiment_id = ${id}`) },
    { noun: BATCH, select: (workspace, id) => openBatches(workspace, sql`b.experiment_id = ${id}`) },
    {
      noun: QUEUE,
      select: (workspace, id) => liveQueues(workspace, sql`q.source ->> 'experiment_id' = ${id}`),
    },
  ],
  result: [
    {
      noun: RUN,
      select: (workspace, id) =>
        openRuns(
          workspace,
          sql`EXISTS (SELECT FROM score_targets t WHERE t.score_run_id = r.score_run_id AND t.result_id = ${id})`,
        ),
    },
    {
      noun: BATCH,
      select: (workspace, id) =>
        openBatches(
          workspace,
          sql`EXISTS (SELECT FROM score_batch_targets t WHERE t.score_batch_id = b.score_batch_id AND t.result_id = ${id})`,
        ),
    },
    {
      noun: QUEUE,
      select: (workspace, id) =>
        liveQueues(
          workspace,
          sql`q.queue_id = ANY (ARRAY(SELECT i.queue_id FROM annotation_items i
            WHERE i.workspace_id = ${workspace} AND i.result_id = ${id} AND i.item_status <> 'completed'))`,
        ),
    },
  ],
  scorer: [
    {
      noun: 'scoring rule',
      isDeletedToo: true,
      select: (workspace, id) =>
        sql`SELECT rule_id AS id FROM scoring_rules
          WHERE workspace_id = ${workspace} AND scorer_id = ${id} AND enabled AND archived_at IS NULL`,
    },
    { noun: RUN, select: (workspace, id) => openRuns(workspace, sql`r.scorer_id = ${id}`) },
    { noun: BATCH, select: (workspace, id) => openBatches(workspace, sql`b.scorer_id = ${id}`) },
    { noun: QUEUE, select: (workspace, id) => liveQueues(workspace, sql`${id} = ANY (q.scorer_ids)`) },
  ],
};

/** Finds what refers to the resources of evaluation. */
@Injectable()
export class EvaluationReferences implements ReferenceSource {
  readonly nouns = Object.keys(KINDS);

  constructor(references: References) {
    references.add(this);
  }

  async find(tx: Tx, scope: OrgScope, noun: string, id: string, limit: number): Promise<Reference[]> {
    // all routes of evaluation have a workspace
    const { workspaceId } = scope as Scope;
    const selected = KINDS[noun]!.map(
      (kind) =>
        sql`(SELECT ${kind.noun} AS noun, id, ${kind.isDeletedToo ?? false}::boolean AS "isDeletedToo" FROM (${kind.select(workspaceId, id)}) found LIMIT ${limit})`,
    ).reduce((all, one) => sql`${all} UNION ALL ${one}`);
    return tx.query<Reference>(sql`SELECT * FROM (${selected}) found LIMIT ${limit}`);
  }

  /** Changes the ETags of the queues of a deleted scorer, which show that it is erased. */
  async markErased(tx: Tx, scope: OrgScope, noun: string, id: string): Promise<void> {
    if (noun !== 'scorer') return;
    await tx.query(
      sql`UPDATE annotation_queues SET generation = generation + 1
        WHERE workspace_id = ${(scope as Scope).workspaceId} AND ${id} = ANY (scorer_ids)`,
    );
  }
}
