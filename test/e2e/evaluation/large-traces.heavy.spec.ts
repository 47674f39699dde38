import type { SqlExecutor, Tx } from '#platform/db';
import { RawJson } from '#platform/json';
import {
  type ApiClient,
  sharedApp,
  newOrganization,
  newSpan,
  newTraceId,
  protobufExport,
  SPAN_START,
  type TestAttributes,
  type TestOrganization,
  type TestSpan,
} from '#testing';
import { RawExporter } from '../telemetry/otlp.harness';

const MIB = 1024 * 1024;

describe('a very large trace', () => {
  const app = sharedApp();
  let organization: TestOrganization;
  let client: ApiClient;
  let exporter: RawExporter;
  let experiment: string;

  beforeAll(async () => {
    organization = await newOrganization(app);
    client = await organization.as('editor');
    exporter = new RawExporter(app.url, await organization.token('editor'), organization.workspaceId);
    const { body } = await client.post('/eval/v1/experiments', {
      workspace_id: organization.workspaceId,
      name: 'large',
    });
    experiment = body.experiment_id;
  });

  /** Returns spans of one trace, a millisecond apart. */
  function spansOf(count: number, attributes?: TestAttributes): TestSpan[] {
    const traceId = newTraceId();
    return Array.from({ length: count }, (_, index) =>
      newSpan({ traceId, name: `step ${index}`, start: SPAN_START + BigInt(index) * 1_000_000n, attributes }),
    );
  }

  async function send(spans: TestSpan[], resource?: TestAttributes): Promise<string> {
    expect((await exporter.send(protobufExport(spans, resource))).status).toBe(200);
    return spans[0]!.traceId;
  }

  describe('in pages of spans', () => {
    interface SpanPage {
      names: string[];
      bytes: number;
      next: string | null;
    }

    async function page(traceId: string, query: string): Promise<SpanPage> {
      const path = `/eval/v1/experiments/${experiment}/traces/${traceId}/spans?limit=500${query}`;
      const { status, body } = await client.get(path);
      expect([status, body.page?.limit]).toEqual([200, 500]);
      const names = body.items.map((span: any) => span.name);
      return { names, bytes: JSON.stringify(body.items).length, next: body.page.next_cursor };
    }

    async function pages(traceId: string, query = ''): Promise<SpanPage[]> {
      const all = [await page(traceId, query)];
      const sort = query.includes('sort=-started_at') ? '&sort=-started_at' : '';
      for (let next = all[0]!.next; next !== null; next = all.at(-1)!.next) {
        all.push(await page(traceId, `${sort}&cursor=${next}`));
      }
      return all;
    }

    const named = (count: number): string[] => Array.from({ length: count }, (_, index) => `step ${index}`);
    const namesOf = (spanPages: SpanPage[]): string[] => spanPages.flatMap(({ names }) => names);

    it('has pages of a bounded size if many small spans share a large resource, in either order', async () => {
      const traceId = await send(spansOf(70), { 'service.name': 'shop', blob: 'x'.repeat(MIB) });
      const spanPages = await pages(traceId);
      expect(namesOf(spanPages)).toEqual(named(70));
      expect(spanPages).toHaveLength(24); // three spans in each
      for (const { bytes } of spanPages) expect(bytes).toBeLessThan(4 * MIB);
      expect(namesOf(await pages(traceId, '&sort=-started_at'))).toEqual(named(70).reverse());
    });

    it('has pages of a bounded size if the spans are large, even after an offset', async () => {
      const spans = spansOf(36, { blob: 'x'.repeat(MIB) });
      for (let start = 0; start < spans.length; start += 12) await send(spans.slice(start, start + 12));
      const spanPages = await pages(spans[0]!.traceId, '&offset=2');
      expect(namesOf(spanPages)).toEqual(named(36).slice(2));
      expect(spanPages).toHaveLength(12); // three spans in each
      for (const { bytes } of spanPages) expect(bytes).toBeLessThan(4 * MIB);
    });

    it('has at least one span on each page, however large the span is', async () => {
      // The limit assumes that JSON escapes each character with six.
      const spans = spansOf(2).map((span) => ({ ...span, name: span.name + 'n'.repeat(6 * MIB) }));
      const spanPages = await pages(await send(spans));
      expect(spanPages.map(({ names }) => names.map((name) => name.slice(0, 6)))).toEqual([
        ['step 0'],
        ['step 1'],
      ]);
    });
  });

  describe('as the subject of a scorer', () => {
    /** Returns the subject that a scorer sees, and the size of the JSON that was read from the database, in bytes. */
    async function preview(selection: object): Promise<{ subject: any; read: number }> {
      const scorer = await client.post('/eval/v1/scorers', {
        workspace_id: organization.workspaceId,
        name: newTraceId(),
        scorer_kind: 'code',
        definition: { language: 'javascript', source: 'function score() { return 1; }' },
      });
      let read = 0;
      const { query, transaction } = app.database;
      const counting = (inner: SqlExecutor['query']): SqlExecutor['query'] =>
        async function (statement, values) {
          const rows = await inner<object>(statement, values);
          for (const value of (rows ?? []).flatMap((row): unknown[] => Object.values(row))) {
            if (value instanceof RawJson) read += value.text.length;
          }
          return rows as never;
        };
      const spies = [
        jest.spyOn(app.database, 'query').mockImplementation(counting(query.bind(app.database))),
        jest
          .spyOn(app.database, 'transaction')
          .mockImplementation(((work: (tx: Tx) => Promise<unknown>) =>
            transaction.call(app.database, (tx) => work({ ...tx, query: counting(tx.query) }))) as never),
      ];
      const evaluator = await organization.as('evaluator');
      const path = `/eval/v1/scorers/${scorer.body.scorer_id}/score`;
      const answer = await evaluator.post(path, { mode: 'preview', ...selection });
      for (const spy of spies) spy.mockRestore();
      expect(answer.status).toBe(200);
      expect(read).toBeGreaterThan(0);
      return { subject: answer.body.results[0].preview_request.subject, read };
    }

    it('is read only up to a limit, with the names of all spans but without their resource', async () => {
      const spans = spansOf(24, { blob: 'x'.repeat(MIB) });
      const resource = { 'service.name': 'shop', blob: 'y'.repeat(2 * MIB) };
      for (let start = 0; start < spans.length; start += 12) {
        await send(spans.slice(start, start + 12), resource);
      }
      const { subject, read } = await preview({ trace_ids: [spans[0]!.traceId] });
      expect(read).toBeLessThan(9 * MIB);
      const { trace } = subject;
      expect(trace).toMatchObject({ span_count: 24, is_truncated: true });
      expect(trace.spans.map((span: any) => span.name)).toEqual(spans.map(({ name }) => name));
      const cut = trace.spans.map((span: any) => span.is_truncated);
      expect(cut.indexOf(true)).toBe(7);
      expect(cut.slice(7)).not.toContain(false);
      expect(trace.spans[7]).toMatchObject({ attributes: {}, events: [], links: [] });
    });

    it('is read with as many span names as fit', async () => {
      const traceId = newTraceId();
      const named = Array.from({ length: 12 }, (_, index) =>
        newSpan({ traceId, name: `${index} ${'n'.repeat(MIB)}`, start: SPAN_START + BigInt(index) }),
      );
      await send(named);
      const { subject } = await preview({ trace_ids: [traceId] });
      expect(subject.trace.spans).toHaveLength(7);
      expect(JSON.stringify(subject).length).toBeLessThan(8 * MIB);
    });

    it('is read only up to a limit if it belongs to a session', async () => {
      const session = newTraceId();
      for (let start = 0; start < 4; start++) {
        await send(
          Array.from({ length: 5 }, (_, index) =>
            newSpan({
              name: `turn ${start * 5 + index}`,
              start: SPAN_START + BigInt(start * 5 + index) * 1_000_000n,
              attributes: { 'session.id': session, 'output.value': 'x'.repeat(MIB) },
            }),
          ),
        );
      }
      const { subject, read } = await preview({ session_ids: [session] });
      expect(read).toBeLessThan(9 * MIB);
      expect(subject.session).toMatchObject({ trace_count: 20, is_truncated: true });
      expect(subject.session.traces).toHaveLength(20);
      expect(JSON.stringify(subject).length).toBeLessThan(8 * MIB);
    });
  });
});
