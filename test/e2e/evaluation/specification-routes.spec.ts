import { type Answer, type ApiClient, sharedApp, newSpan } from '#testing';
import { RawExporter } from '../telemetry/otlp.harness';
import {
  type DatasetRecord,
  EvaluationWorkspace,
  type Experiment,
  outcome,
  type Page,
  places,
  type Result,
} from './evaluation.harness';

type Fields = Record<string, unknown>;

const DEFINITION = { language: 'javascript', source: 'function score() { return 1; }' };

/** The rows of the table of routes, with the success status of each operation. */
const ROUTES: Record<string, [operation: string, status: number][]> = {
  Datasets: [
    ['POST /datasets', 201],
    ['GET /datasets', 200],
    ['GET /datasets/{id}', 200],
    ['PATCH /datasets/{id}', 200],
    ['POST /datasets/{id}/archive', 200],
  ],
  Records: [
    ['POST /datasets/{id}/records', 201],
    ['POST /datasets/{id}/records/bulk', 207],
    ['GET /datasets/{id}/records', 200],
    ['GET /datasets/{id}/records/{rid}', 200],
    ['PATCH /datasets/{id}/records/{rid}', 200],
    ['POST /datasets/{id}/records/{rid}/archive', 200],
    ['GET /datasets/{id}/records/{rid}/versions', 200],
    ['GET /datasets/{id}/records/{rid}/versions/{n}', 200],
  ],
  Experiments: [
    ['POST /experiments', 201],
    ['GET /experiments', 200],
    ['GET /experiments/{id}', 200],
    ['PATCH /experiments/{id}', 200],
    ['POST /experiments/{id}/archive', 200],
  ],
  Results: [
    ['POST /experiments/{id}/results', 201],
    ['POST /experiments/{id}/results/bulk', 207],
    ['GET /experiments/{id}/results', 200],
    ['GET /experiments/{id}/results/{rid}', 200],
  ],
  'Experiment traces': [
    ['GET /experiments/{id}/traces', 200],
    ['GET /experiments/{id}/traces/{tid}', 200],
    ['GET /experiments/{id}/traces/{tid}/spans', 200],
    ['POST /experiments/{id}/traces/stats/query', 200],
  ],
  Scorers: [
    ['POST /scorers', 201],
    ['GET /scorers', 200],
    ['GET /scorers/{id}', 200],
    ['PATCH /scorers/{id}', 200],
    ['GET /scorers/{id}/versions', 200],
    ['GET /scorers/{id}/versions/{n}', 200],
    ['POST /scorers/{id}/archive', 200],
    ['POST /scorers/{id}/score', 202],
  ],
};

const ROWS = Object.entries(ROUTES).flatMap(([resource, operations]) =>
  operations.map(([operation, status]): [string, string, number] => [resource, operation, status]),
);

/** Each test quotes a row of the specification's tables of the routes of evaluation. */
describe('the routes of evaluation', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let names = 0;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  /** Returns a body with which the operation succeeds; undefined if it has no body. */
  const bodyOf = (operation: string, ids: Record<string, string>): Fields | undefined => {
    const workspace_id = space.id;
    const bodies: Record<string, Fields> = {
      'POST /datasets': { workspace_id, name: `d ${++names}` },
      'POST /datasets/{id}/records': { workspace_id, input: 1 },
      'PATCH /datasets/{id}/records/{rid}': { label: 'changed' },
      'POST /datasets/{id}/records/bulk': { workspace_id, items: [{ input: 1 }] },
      'POST /experiments': { workspace_id, name: 'n' },
      'POST /experiments/{id}/results': { workspace_id, case_id: 'a' },
      'POST /experiments/{id}/results/bulk': { workspace_id, items: [{ case_id: 'a' }] },
      'POST /scorers': { workspace_id, name: `s ${++names}`, scorer_kind: 'code', definition: DEFINITION },
      'POST /scorers/{id}/score': { trace_ids: [ids['{tid}']] },
    };
    return bodies[operation] ?? (operation.startsWith('PATCH') ? { description: 'changed' } : undefined);
  };

  /** Creates one object of each kind, as the targets of an operation. */
  async function objects(operation: string): Promise<Record<string, string>> {
    const { dataset_id } = await space.dataset();
    const { experiment_id } = await space.experiment();
    const span = newSpan();
    const exporter = new RawExporter(app.url, await space.organization.token('runtime'), space.id);
    expect((await exporter.json([span])).status).toBe(200);
    const scorer = await space.post<{ scorer_id: string }>('/eval/v1/scorers', bodyOf('POST /scorers', {}));
    const { result_id } = await space.result(experiment_id, { trace_id: span.traceId });
    const record = await space.record(dataset_id);
    const kind = operation.split('/')[1]!.split('/')[0]!;
    const own: Record<string, string> = {
      datasets: dataset_id,
      experiments: experiment_id,
      scorers: scorer.body.scorer_id,
    };
    const child = kind === 'datasets' ? record.dataset_record_id : result_id;
    return { '{id}': own[kind]!, '{rid}': child, '{tid}': span.traceId, '{n}': '1' };
  }

  const send = (caller: ApiClient, operation: string, ids: Record<string, string>): Promise<Answer> => {
    const [method, template] = operation.split(' ') as [string, string];
    const path = template.replace(/\{\w+\}/g, (name) => ids[name]!);
    return caller.request(method, `/eval/v1${path}`, { body: bodyOf(operation, ids) });
  };

  it('follow "Every request carries Authorization: Bearer <ACCESS_TOKEN> and the header X-Service-Workspace-Id"', async () => {
    const owner = await space.organization.member('owner');
    const ids = { '{id}': 'x', '{rid}': 'x', '{tid}': 'x', '{n}': '1' };
    for (const [, operation] of ROWS) {
      const anonymous = await send(app.api().in(space.id), operation, ids);
      expect([operation, ...outcome(anonymous)]).toEqual([operation, 401, 'token_missing']);
      const nowhere = await send(owner, operation, ids);
      expect([operation, ...outcome(nowhere), places(nowhere)[0]]).toEqual([
        ...[operation, 400, 'invalid_request'],
        'X-Service-Workspace-Id',
      ]);
    }
  });

  it('follow "Create bodies must contain workspace_id", which must equal the header', async () => {
    const creates = ROWS.filter(([, operation, status]) => status === 201 || /\/bulk$/.test(operation));
    expect(creates).toHaveLength(7);
    for (const [, operation] of creates) {
      const ids = await objects(operation);
      const [, template] = operation.split(' ') as [string, string];
      const path = `/eval/v1${template.replace('{id}', ids['{id}']!)}`;
      const { workspace_id: _own, ...without } = bodyOf(operation, ids)!;
      for (const body of [without, { ...without, workspace_id: 'wsp_x' }]) {
        const answer = await space.evaluator.post(path, body);
        expect([operation, answer.status, places(answer)]).toEqual([operation, 400, ['/workspace_id']]);
      }
    }
  });

  it('follow "The update verb is PATCH"', async () => {
    const patched = ROWS.filter(([, operation]) => operation.startsWith('PATCH'));
    expect(patched).toHaveLength(4);
    for (const [, operation] of patched) {
      const ids = await objects(operation);
      const answer = await send(space.evaluator, operation.replace('PATCH', 'PUT'), ids);
      expect([operation, answer.status, answer.headers.get('allow')]).toEqual([
        ...[operation, 405],
        expect.stringContaining('PATCH'),
      ]);
    }
  });

  describe('with list filters', () => {
    /** Expects that a filtered list contains only the matching item. */
    const finds = async <Item extends object>(path: string, query: string, own: Item): Promise<void> => {
      const key = Object.keys(own)[0] as keyof Item;
      const items = await space.list<Item>(`${path}?${query}`);
      expect([query, items.map((item) => item[key])]).toEqual([query, [own[key]]]);
    };

    it('support "experiments: dataset_id, subject_kind, subject_id, experiment_status, baseline_experiment_id, config=key:value, sort=-created_at"', async () => {
      const fresh = await EvaluationWorkspace.open(app);
      const [dataset, baseline] = [await fresh.dataset(), await fresh.experiment()];
      const { dataset_id } = dataset;
      const subject = { subject_kind: 'skill', subject_id: 'skl_1' };
      const one = await fresh.experiment({
        ...{ ...subject, dataset_id, baseline_experiment_id: baseline.experiment_id },
        config: { model: 'm:1', depth: 2 },
      });
      await fresh.finalize(one.experiment_id, { experiment_status: 'failed' });
      const list = (query: string) => fresh.list<Experiment>(`/eval/v1/experiments?${query}`);
      for (const query of [
        ...[`dataset_id=${dataset_id}`, 'subject_kind=skill', 'subject_id=skl_1', 'experiment_status=failed'],
        ...[`baseline_experiment_id=${baseline.experiment_id}`, 'config=model:m:1', 'config=depth:2'],
      ]) {
        const found = await list(query);
        expect([query, found.map((item) => item.experiment_id)]).toEqual([query, [one.experiment_id]]);
      }
      const newestFirst = [one.experiment_id, baseline.experiment_id];
      const sorted = await list('sort=-created_at');
      expect(sorted.map((item) => item.experiment_id)).toEqual(newestFirst);
      const oldestFirst = await list('sort=created_at');
      expect(oldestFirst.map((item) => item.experiment_id)).toEqual([...newestFirst].reverse());
    });

    it('support "results: case_id, dataset_record_id, session_id"', async () => {
      const { dataset_id } = await space.dataset();
      const [record, other] = [await space.record(dataset_id), await space.record(dataset_id)];
      const { experiment_id } = await space.experiment({ dataset_id });
      const { dataset_record_id } = record;
      const one = await space.result(experiment_id, { case_id: 'c', dataset_record_id, session_id: 's' });
      await space.result(experiment_id, { dataset_record_id: other.dataset_record_id, session_id: 't' });
      const path = `/eval/v1/experiments/${experiment_id}/results`;
      for (const query of ['case_id=c', `dataset_record_id=${dataset_record_id}`, 'session_id=s']) {
        await finds<Pick<Result, 'result_id'>>(path, query, { result_id: one.result_id });
      }
    });

    it('support "records: q, label, category, source_kind, source_ref"', async () => {
      const { dataset_id } = await space.dataset();
      const own = { label: 'l', category: 'c', source_kind: 'trace', source_ref: 'r' };
      const one = await space.record(dataset_id, { input: 'the quick fox', ...own });
      await space.record(dataset_id, { input: 'a lazy dog' });
      const path = `/eval/v1/datasets/${dataset_id}/records`;
      for (const query of ['q=quick', ...Object.entries(own).map((pair) => pair.join('='))]) {
        const { dataset_record_id } = one;
        await finds<Pick<DatasetRecord, 'dataset_record_id'>>(path, query, { dataset_record_id });
      }
    });
  });

  describe('with numbered rules', () => {
    it('follow rule 1, "Lists have a page size, default 50 and maximum 500"', async () => {
      const { dataset_id } = await space.dataset();
      const path = `/eval/v1/datasets/${dataset_id}/records`;
      for (let sent = 0; sent < 600; sent += 100) {
        const items = Array.from({ length: 100 }, (_, n) => ({ input: sent + n }));
        expect((await space.post(`${path}/bulk`, { items })).status).toBe(207);
      }
      const page = async (query: string) => {
        const { body } = await space.viewer.get<Page<unknown>>(`${path}${query}`);
        return [body.items.length, body.page.limit, body.page.total];
      };
      expect(await page('')).toEqual([50, 50, 600]);
      expect(await page('?limit=500')).toEqual([500, 500, 600]);
      expect(await page('?limit=0')).toEqual([0, 0, 600]);
      expect(outcome(await space.viewer.get(`${path}?limit=501`))).toEqual([400, 'invalid_query']);
    });

    it('follow rule 2, "A bulk create answers 207; each item carries its own status_code"', async () => {
      const { experiment_id } = await space.experiment();
      expect(await space.results(experiment_id, [{ case_id: 'a' }, {}, { case_id: 'a' }])).toEqual([
        201, 400, 409,
      ]);
      const { dataset_id } = await space.dataset();
      const path = `/eval/v1/datasets/${dataset_id}/records/bulk`;
      const answer = await space.post<Fields>(path, { items: [{ input: 1 }, 'none'] });
      const items = answer.body.items as { status_code: number }[];
      expect([answer.status, items.map((item) => item.status_code)]).toEqual([207, [201, 400]]);
    });
  });
});
