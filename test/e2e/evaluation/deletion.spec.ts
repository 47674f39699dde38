import { newId } from '#platform/ids';
import { type ApiClient, sharedApp } from '#testing';
import { AnnotationFixture } from './annotation.fixture';
import { EvaluationWorkspace } from './evaluation.harness';
import { EXACT } from './scoring.fixture';

describe('deleting in evaluation', () => {
  const app = sharedApp();
  let annotation: AnnotationFixture;
  let on: EvaluationWorkspace;
  let admin: ApiClient;

  beforeAll(async () => {
    annotation = await AnnotationFixture.open(app);
    on = annotation.space;
    admin = await on.organization.as('admin');
  });

  const remove = (path: string, query = '') => admin.delete(`${path}${query}`);
  const statusOf = async (path: string): Promise<number> => (await admin.get(path)).status;
  const pathOfDataset = (id: string) => `/eval/v1/datasets/${id}`;
  const pathOfExperiment = (id: string) => `/eval/v1/experiments/${id}`;

  const scorer = async (): Promise<string> => {
    const answer = await on.evaluator.post('/eval/v1/scorers', {
      workspace_id: on.id,
      name: newId('scr'),
      scorer_kind: 'code',
      definition: EXACT,
    });
    return answer.body.scorer_id as string;
  };
  const rule = async (scorerId: string, enabled = false): Promise<string> => {
    const path = `/eval/v1/scorers/${scorerId}/rules`;
    const answer = await on.evaluator.post(path, { workspace_id: on.id, enabled });
    return `${path}/${answer.body.rule_id}`;
  };
  const version = async (datasetId: string, row: string): Promise<string> => {
    const path = `${pathOfDataset(datasetId)}/versions`;
    const { body } = await on.editor.post(path, { workspace_id: on.id, content: `question\n${row}\n` });
    return `${path}/${body.version}`;
  };
  const record = async (datasetId: string): Promise<string> =>
    `${pathOfDataset(datasetId)}/records/${(await on.record(datasetId)).dataset_record_id}`;
  const result = async (): Promise<string> => {
    const { experiment_id } = await on.experiment();
    const { result_id } = await on.result(experiment_id, { scores: { s: 1 } });
    return `${pathOfExperiment(experiment_id)}/results/${result_id}`;
  };
  const scoreOf = async (resultPath: string): Promise<string> => {
    const scores = await on.list<{ score_id: string }>(
      `/eval/v1/scores?result_id=${resultPath.split('/').at(-1)}`,
    );
    return `/eval/v1/scores/${scores[0]!.score_id}`;
  };

  const KINDS: [string, () => Promise<string>, { isArchived?: boolean }][] = [
    ['a scorer', async () => `/eval/v1/scorers/${await scorer()}`, { isArchived: true }],
    ['a rule', async () => rule(await scorer()), { isArchived: true }],
    ['a queue', queueOfTrace, { isArchived: true }],
    ['a record', async () => record((await on.dataset()).dataset_id), {}],
    ['a result', result, {}],
    ['a score', async () => scoreOf(await result()), {}],
    ['a CSV version', async () => version((await on.dataset()).dataset_id, 'x'), {}],
  ];

  async function queueOfTrace(): Promise<string> {
    const trace_ids = await annotation.traces(1);
    const { queue_id } = await annotation.queue(await annotation.scorer(), { trace_ids });
    return `/eval/v1/annotation-queues/${queue_id}`;
  }

  it.each(KINDS)('deletes %s for good, and only once', async (_, create, { isArchived }) => {
    const path = await create();
    expect((await on.evaluator.delete(path)).status).toBe(403);
    if (isArchived) {
      expect((await remove(path)).body.detail).toMatch(/is not archived\. Archive it before you delete it/);
      await on.archive(path);
    }
    expect((await remove(path)).status).toBe(204);
    expect([await statusOf(path), (await remove(path)).status]).toEqual([404, 404]);
  });

  it('deletes the scores of a deleted result, and keeps the count of live records', async () => {
    const path = await result();
    const score = await scoreOf(path);
    await remove(path);
    expect(await statusOf(score)).toBe(404);
    const { dataset_id } = await on.dataset();
    const [live, archived] = [await record(dataset_id), await record(dataset_id)];
    await on.archive(archived);
    await remove(archived);
    const count = async () => (await admin.get(pathOfDataset(dataset_id))).body.record_count as number;
    expect(await count()).toBe(1);
    await remove(live);
    expect(await count()).toBe(0);
  });

  it('never uses the number of a deleted CSV version again', async () => {
    const { dataset_id } = await on.dataset();
    await version(dataset_id, 'first');
    await remove(await version(dataset_id, 'second'));
    expect((await admin.get(pathOfDataset(dataset_id))).body).toMatchObject({
      latest_version: 1,
      row_count: 1,
    });
    expect(await version(dataset_id, 'second')).toMatch(/versions\/3$/);
    const pinned = { workspace_id: on.id, name: 'e', dataset_id, dataset_version: 2 };
    expect((await on.editor.post('/eval/v1/experiments', pinned)).status).toBe(404);
  });

  it('keeps results and scores of a finalized experiment', async () => {
    const path = await result();
    const score = await scoreOf(path);
    await on.finalize(path.split('/')[4]!);
    const refusals = [await remove(path, '?force=true'), await remove(score)];
    expect(refusals.map(({ status }) => status)).toEqual([409, 409]);
    expect(refusals.map(({ body }) => body.detail)).toEqual([
      'The experiment is completed. A finalized experiment cannot be changed. Create another one, or delete it as a whole.',
      expect.stringMatching(/is finalized\. The scores of its results cannot be deleted/),
    ]);
  });

  it('keeps the score that a deleted score superseded superseded', async () => {
    const { experiment_id } = await on.experiment();
    const { result_id } = await on.result(experiment_id, { scores: { s: 1 } });
    const path = `${pathOfExperiment(experiment_id)}/results/${result_id}`;
    await on.editor.patch(path, { scores: { s: 0 } });
    await remove(await scoreOf(path));
    expect((await admin.get(path)).body.scores).toEqual({});
  });

  /** Returns the path of what is in use, and the noun and the id of what uses it. */
  const USES: [string, () => Promise<[path: string, noun: string, id: string]>][] = [
    [
      'a dataset of a finalized experiment',
      async () => {
        const { dataset_id } = await on.dataset();
        const { experiment_id } = await on.experiment({ dataset_id });
        await on.finalize(experiment_id);
        await on.archive(pathOfDataset(dataset_id));
        return [pathOfDataset(dataset_id), 'experiment', experiment_id];
      },
    ],
    [
      'a record that a snapshot has',
      async () => {
        const { dataset_id } = await on.dataset();
        const path = await record(dataset_id);
        const { experiment_id } = await on.experiment({ dataset_id });
        await on.finalize(experiment_id);
        return [path, 'experiment', experiment_id];
      },
    ],
    [
      'a record that a result of part of a dataset names',
      async () => {
        const { dataset_id } = await on.dataset();
        const path = await record(dataset_id);
        const dataset_record_id = path.split('/').at(-1)!;
        const dataset_filter = { dataset_record_ids: [dataset_record_id] };
        const { experiment_id } = await on.experiment({ dataset_id, dataset_filter });
        await on.result(experiment_id, { dataset_record_id });
        await on.finalize(experiment_id);
        return [path, 'experiment', experiment_id];
      },
    ],
    [
      'a pinned CSV version',
      async () => {
        const { dataset_id } = await on.dataset();
        const path = await version(dataset_id, 'x');
        const { experiment_id } = await on.experiment({ dataset_id, dataset_version: 1 });
        return [path, 'experiment', experiment_id];
      },
    ],
    [
      'a baseline',
      async () => {
        const { experiment_id: baseline_experiment_id } = await on.experiment();
        const { experiment_id } = await on.experiment({ baseline_experiment_id });
        await on.archive(pathOfExperiment(baseline_experiment_id));
        return [pathOfExperiment(baseline_experiment_id), 'experiment', experiment_id];
      },
    ],
    [
      'a promoted experiment',
      async () => {
        const { dataset_id } = await on.dataset();
        const { experiment_id } = await on.experiment({ dataset_id, name: 'e' });
        await on.finalize(experiment_id);
        await on.editor.patch(pathOfDataset(dataset_id), { baselines: { e: experiment_id } });
        await on.archive(pathOfExperiment(experiment_id));
        return [pathOfExperiment(experiment_id), 'dataset', dataset_id];
      },
    ],
    [
      'a scorer of an enabled rule',
      async () => {
        const id = await scorer();
        const used = await rule(id, true);
        await on.archive(`/eval/v1/scorers/${id}`);
        return [`/eval/v1/scorers/${id}`, 'scoring rule', used.split('/').at(-1)!];
      },
    ],
    [
      'a scorer of a live queue',
      async () => {
        const scored = await annotation.scorer();
        const { queue_id } = await annotation.queue(scored, { trace_ids: await annotation.traces(1) });
        await on.archive(`/eval/v1/scorers/${scored.scorer_id}`);
        return [`/eval/v1/scorers/${scored.scorer_id}`, 'annotation queue', queue_id];
      },
    ],
    [
      'a result of an open run',
      async () => {
        const path = await result();
        const body = { workspace_id: on.id, experiment_id: path.split('/')[4] };
        const run = await on.evaluator.post(`/eval/v1/scorers/${await scorer()}/score`, body);
        return [path, 'scoring run', run.body.score_run_id as string];
      },
    ],
    [
      'a result in a queue',
      async () => {
        const path = await result();
        const source = { experiment_id: path.split('/')[4] };
        const { queue_id } = await annotation.queue(await annotation.scorer(), source);
        return [path, 'annotation queue', queue_id];
      },
    ],
  ];

  it.each(USES)('does not delete %s, unless forced', async (_, use) => {
    const [path, noun, id] = await use();
    const refusal = await remove(path);
    expect([refusal.status, refusal.body.code]).toEqual([409, 'conflict']);
    expect(refusal.body.detail).toContain(`is used by ${noun} ${id}. Archive, change or end these first`);
    const fate = noun === 'scoring rule' ? /rule is then deleted too\.$/ : /References to it are then marked/;
    expect(refusal.body.detail).toMatch(fate);
    const forced = await remove(path, '?force=true');
    expect(forced.status).toBe(/datasets\/[^/]*$|experiments\/[^/]*$/.test(path) ? 202 : 204);
  });

  it('marks what refers to a deleted record or CSV version', async () => {
    const { dataset_id } = await on.dataset();
    const [path, csv] = [await record(dataset_id), await version(dataset_id, 'x')];
    const ofRecords = await on.experiment({ dataset_id });
    const ofVersion = await on.experiment({ dataset_id, dataset_version: 1 });
    await on.finalize(ofRecords.experiment_id);
    await remove(path, '?force=true');
    await remove(csv, '?force=true');
    const views = await Promise.all(
      [ofRecords, ofVersion].map(async (one) => (await admin.get(pathOfExperiment(one.experiment_id))).body),
    );
    expect(views[0]).toMatchObject({ dataset_erased: false, dataset_snapshot: { erased: true } });
    expect(views[1]).toMatchObject({ dataset_erased: true, dataset_version: 1 });
    const added = await on.post(`${pathOfExperiment(ofVersion.experiment_id)}/results`, { case_id: '1' });
    expect([added.status, (added.body as { detail: string }).detail]).toEqual([
      409,
      expect.stringMatching(/was deleted\. Finalize the experiment/),
    ]);
    expect((await on.finalize(ofVersion.experiment_id)).dataset_snapshot).toBeNull();
  });

  it('shows in runs and batches that their scorer was deleted', async () => {
    const path = `/eval/v1/scorers/${await scorer()}`;
    const use = { workspace_id: on.id, trace_ids: await annotation.traces(1) };
    const [run, batch] = [
      await on.evaluator.post(`${path}/score`, use),
      await on.evaluator.post(`${path}/batches`, use),
    ];
    await on.archive(path);
    await remove(path, '?force=true');
    for (const work of [
      `/eval/v1/score-runs/${run.body.score_run_id}`,
      `/eval/v1/score-batches/${batch.body.score_batch_id}`,
    ])
      expect((await admin.get(work)).body).toMatchObject({ scorer_erased: true });
  });

  it('explains why nobody can work on a queue whose scorer was deleted', async () => {
    const scored = await annotation.scorer();
    const { queue_id } = await annotation.queue(scored, { trace_ids: await annotation.traces(1) });
    await on.archive(`/eval/v1/scorers/${scored.scorer_id}`);
    const path = `/eval/v1/annotation-queues/${queue_id}`;
    const before = await admin.get(path);
    expect(before.body).toMatchObject({ scorers: [{ scorer_id: scored.scorer_id, erased: false }] });
    await remove(`/eval/v1/scorers/${scored.scorer_id}`, '?force=true');
    const after = await admin.get(path);
    expect(after.body).toMatchObject({ scorers: [{ scorer_id: scored.scorer_id, erased: true }] });
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
    const next = await on.evaluator.post(`/eval/v1/annotation-queues/${queue_id}/next`, {});
    expect([next.status, next.body.detail]).toEqual([
      409,
      expect.stringMatching(/of this queue was deleted/),
    ]);
  });

  it('refuses to restore what is being deleted, and records each deletion in the audit log', async () => {
    const { dataset_id } = await on.dataset();
    await on.archive(pathOfDataset(dataset_id));
    const [erasure, repeated] = [
      await remove(pathOfDataset(dataset_id)),
      await remove(pathOfDataset(dataset_id)),
    ];
    expect([erasure.status, repeated.status]).toEqual([202, 409]);
    expect(erasure.body).toMatchObject({ subject: { kind: 'dataset' }, erasure_status: 'queued' });
    expect((await on.evaluator.post(`${pathOfDataset(dataset_id)}/restore`)).status).toBe(409);
    const log = await admin.get(`/registry/v1/audit-log?resource_id=${dataset_id}&action=delete`);
    expect(log.body.items).toEqual([expect.objectContaining({ action: 'delete', resource_type: 'dataset' })]);
  });
});
