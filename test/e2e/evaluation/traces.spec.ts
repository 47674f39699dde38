import { setTimeout as delay } from 'node:timers/promises';
import {
  type ApiClient,
  sharedApp,
  newOrganization,
  type TestOrganization,
  newSpan,
  newTraceId,
  type TestSpan,
} from '#testing';
import { RawExporter } from '../telemetry/otlp.harness';

describe('experiment traces', () => {
  const app = sharedApp();
  let organization: TestOrganization;
  let client: ApiClient;
  let exporter: RawExporter;

  beforeAll(async () => {
    organization = await newOrganization(app);
    client = await organization.as('editor');
    exporter = new RawExporter(app.url, await organization.token('editor'), organization.workspaceId);
  });

  async function newExperiment(): Promise<string> {
    const { body } = await client.post('/eval/v1/experiments', {
      workspace_id: organization.workspaceId,
      name: 'traced',
    });
    return body.experiment_id;
  }

  async function addResults(
    experiment: string,
    traceIds: (string | null)[],
    prefix = 'case',
  ): Promise<any[]> {
    const results: any[] = [];
    for (let start = 0; start < traceIds.length; start += 100) {
      const { status, body } = await client.post(`/eval/v1/experiments/${experiment}/results/bulk`, {
        workspace_id: organization.workspaceId,
        items: traceIds
          .slice(start, start + 100)
          .map((trace_id, i) => ({ case_id: `${prefix}-${start + i}`, trace_id })),
      });
      expect(status).toBe(207);
      results.push(...body.items.map((item: any) => item.result));
    }
    return results;
  }

  async function send(...spans: Partial<TestSpan>[]): Promise<string[]> {
    const sent = spans.map(newSpan);
    expect((await exporter.protobuf(sent)).status).toBe(200);
    return sent.map(({ traceId }) => traceId);
  }

  const pathOf = (experiment: string, rest = ''): string =>
    `/eval/v1/experiments/${experiment}/traces${rest}`;

  describe('in the trace list', () => {
    it('have their totals and their result, newest result first', async () => {
      const experiment = await newExperiment();
      const ids = await send(
        { name: 'first', attributes: { 'session.id': 'ses_1', 'gen_ai.usage.output_tokens': 9 } },
        { name: 'second', isError: true },
      );
      const [first, second] = await addResults(experiment, [ids[0]!, null, ids[1]!].slice(0, 3));
      const { body } = await client.get(pathOf(experiment));
      expect(body.page).toEqual({ limit: 50, offset: 0, total: 2, next_cursor: null });
      expect(body.items.map((item: any) => item.root_name)).toEqual(['second', 'first']);
      expect(body.items[1]).toEqual({
        trace_id: ids[0],
        root_name: 'first',
        started_at: '2026-11-20T00:00:00.000Z',
        duration_ms: 5,
        span_count: 1,
        error_count: 0,
        input_tokens: null,
        output_tokens: 9,
        cost_usd: null,
        models: [],
        session_id: 'ses_1',
        result_id: first.result_id,
        case_id: 'case-0',
        service_name: 'shop',
        user_id: null,
        environment: null,
        tags: [],
        prompt_name: null,
        prompt_version: null,
        input_preview: null,
        output_preview: null,
      });
      expect(second.trace_id).toBeNull();
      const oldestFirst = await client.get(pathOf(experiment, '?sort=created_at'));
      expect(oldestFirst.body.items.map((item: any) => item.root_name)).toEqual(['first', 'second']);
    });

    it('appear once, with their newest result', async () => {
      const experiment = await newExperiment();
      const [id] = await send({});
      await addResults(experiment, [id!]);
      const [newer] = await addResults(experiment, [id!], 'again');
      const { body } = await client.get(pathOf(experiment));
      expect(body.page.total).toBe(1);
      expect(body.items).toEqual([expect.objectContaining({ trace_id: id, result_id: newer.result_id })]);
    });

    it('appear only if they have arrived', async () => {
      const experiment = await newExperiment();
      const absent = newTraceId();
      const [present] = await send({});
      await addResults(experiment, [absent, present!]);
      const before = (await client.get(pathOf(experiment))).body;
      expect([before.page.total, before.items.length]).toEqual([1, 1]);
      await send({ traceId: absent });
      const after = (await client.get(pathOf(experiment))).body;
      expect([after.page.total, after.items.length]).toEqual([2, 2]);
    });

    it('appear only if results reference them', async () => {
      const [experiment, other] = [await newExperiment(), await newExperiment()];
      const [theirs] = await send({}, {});
      await addResults(other, [theirs!]);
      expect((await client.get(pathOf(experiment))).body).toMatchObject({ items: [], page: { total: 0 } });
    });

    it('are paged without gaps or duplicates if most have not arrived', async () => {
      const experiment = await newExperiment();
      const all = Array.from({ length: 350 }, newTraceId);
      // The middle has none at all, so a page must continue after its first read.
      const present = all.filter((_, i) => i % 7 === 0 && (i < 60 || i > 280));
      await send(...present.map((traceId) => ({ traceId })));
      await addResults(experiment, all);
      const newestFirst = [...present].reverse();
      const seen: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const { body }: { body: any } = await client.get(
          pathOf(experiment, `?limit=4${cursor && `&cursor=${cursor}`}`),
        );
        expect(body.page).toMatchObject({ limit: 4, total: present.length });
        seen.push(...body.items.map((item: any) => item.trace_id));
        cursor = body.page.next_cursor;
      }
      expect(seen).toEqual(newestFirst);
      const { body } = await client.get(pathOf(experiment, '?offset=8&limit=5'));
      expect(body.items.map((item: any) => item.trace_id)).toEqual(newestFirst.slice(8, 13));
      const none = (await client.get(pathOf(experiment, '?limit=0'))).body;
      expect([none.items, none.page.total]).toEqual([[], present.length]);
    });

    it('reject unknown parameters', async () => {
      const experiment = await newExperiment();
      for (const query of ['?cursor=nonsense', '?limit=501', '?session_id=x', '?cursor=a&offset=1']) {
        const { status, body } = await client.get(pathOf(experiment, query));
        expect([status, body.code]).toEqual([400, 'invalid_query']);
      }
      const unsorted = await client.get(pathOf(experiment, '?sort=name'));
      expect([unsorted.status, unsorted.body.code]).toEqual([422, 'validation_failed']);
      const { status } = await client.get(pathOf('exp_00000000000000000000000000'));
      expect(status).toBe(404);
    });
  });

  describe('with their spans', () => {
    const ROUTES = ['', '/spans'];

    it('are readable before a result references the trace', async () => {
      const experiment = await newExperiment();
      const id = newTraceId();
      for (const route of ROUTES) {
        expect((await client.get(pathOf(experiment, `/${id}${route}`))).status).toBe(404);
      }
      await send({ traceId: id });
      for (const route of ROUTES) {
        expect((await client.get(pathOf(experiment, `/${id}${route}`))).status).toBe(200);
      }
      expect((await client.get(pathOf(experiment, `/${id}`))).body).toMatchObject({
        result_id: null,
        case_id: null,
      });
      const [result] = await addResults(experiment, [id]);
      expect((await client.get(pathOf(experiment, `/${id}`))).body).toMatchObject({
        result_id: result.result_id,
        case_id: 'case-0',
      });
      expect((await client.get(pathOf(experiment, `/${id}/spans`))).body.page.total).toBe(1);
    });

    it('return 404 for a trace of another experiment', async () => {
      const [experiment, other] = [await newExperiment(), await newExperiment()];
      const [id] = await send({});
      await addResults(other, [id!]);
      for (const route of ROUTES) {
        const { status, body } = await client.get(pathOf(experiment, `/${id}${route}`));
        expect([status, body.code]).toEqual([404, 'not_found']);
        expect((await client.get(pathOf(other, `/${id}${route}`))).status).toBe(200);
      }
      const [own] = await addResults(experiment, [id!]);
      expect((await client.get(pathOf(experiment, `/${id}`))).body.result_id).toBe(own.result_id);
    });

    it('return 404 for invalid ids and unknown experiments', async () => {
      const experiment = await newExperiment();
      const [id] = await send({});
      const ids = ['nonsense', '0'.repeat(32), id!.toUpperCase(), `${id}00`, newTraceId()];
      for (const route of ROUTES) {
        for (const wrong of ids) {
          expect((await client.get(pathOf(experiment, `/${wrong}${route}`))).status).toBe(404);
        }
        expect((await client.get(pathOf('exp_00000000000000000000000000', `/${id}${route}`))).status).toBe(
          404,
        );
      }
    });

    it('are readable for viewers, but not for runtime callers', async () => {
      const experiment = await newExperiment();
      const [id] = await send({});
      const [viewer, runtime] = [await organization.as('viewer'), await organization.as('runtime')];
      for (const path of [
        pathOf(experiment),
        ...ROUTES.map((route) => pathOf(experiment, `/${id}${route}`)),
      ]) {
        expect([(await viewer.get(path)).status, (await runtime.get(path)).status]).toEqual([200, 403]);
      }
    });

    it('are invisible to another workspace', async () => {
      const experiment = await newExperiment();
      const [id] = await send({});
      await addResults(experiment, [id!]);
      const elsewhere = client.in(await organization.newWorkspace());
      for (const path of [
        pathOf(experiment),
        ...ROUTES.map((route) => pathOf(experiment, `/${id}${route}`)),
      ]) {
        expect((await elsewhere.get(path)).status).toBe(404);
      }
    });
  });

  it('return 503 with Retry-After if traces or results cannot be read in time', async () => {
    const experiment = await newExperiment();
    const [id] = await send({});
    await addResults(experiment, [id!]);
    const paths = [pathOf(experiment), pathOf(experiment, `/${id}`), pathOf(experiment, `/${id}/spans`)];
    const figures = pathOf(experiment, '/stats/query');
    const hasty = await app.another({ REQUEST_TIMEOUT_MS: '3000' });
    const caller = hasty.api(await organization.token('editor')).in(organization.workspaceId);
    for (const table of ['traces', 'results']) {
      const answers = await app.database.transaction(async (tx) => {
        await tx.query(`LOCK TABLE ${table}`);
        return Promise.all([...paths.map((path) => caller.get(path)), caller.post(figures)]);
      });
      for (const { status, body, headers } of answers) {
        expect([table, status, body.code]).toEqual([table, 503, 'service_unavailable']);
        expect(headers.get('retry-after')).toMatch(/^\d+$/);
        expect(body.detail).toMatch(/could not be read in time\. (Ask|Read|Narrow|Try)/);
      }
      // They are readable again.
      let status = 0;
      for (let attempt = 0; attempt < 50 && status !== 200; attempt++) {
        ({ status } = await caller.get(paths[0]!));
        if (status !== 200) await delay(100);
      }
      expect(status).toBe(200);
    }
    await hasty.close();
  });
});
