import {
  type ApiClient,
  createTestApp,
  newOrganization,
  newSpan,
  newTraceId,
  protobufExport,
  SPAN_START,
  type TestApp,
  type TestAttributes,
  type TestOrganization,
  type TestSpan,
} from '#testing';
import { RawExporter } from '../telemetry/otlp.harness';

const MIB = 1024 * 1024;

/** What a user would lose: the service, which a trace that nobody meant to be large must not bring down. */
describe('a trace that is larger than memory should hold', () => {
  let app: TestApp;
  let organization: TestOrganization;
  let client: ApiClient;
  let exporter: RawExporter;
  let experiment: string;

  beforeAll(async () => {
    app = await createTestApp();
    organization = await newOrganization(app);
    client = await organization.as('editor');
    exporter = new RawExporter(app.url, await organization.token('editor'), organization.workspaceId);
    const { body } = await client.post('/eval/v1/experiments', {
      workspace_id: organization.workspaceId,
      name: 'large',
    });
    experiment = body.experiment_id;
  });
  afterAll(() => app.close());

  /** Spans of one trace, a millisecond apart. */
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

  describe('has its spans answered in pages of a bounded size', () => {
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
      const found = [await page(traceId, query)];
      const sort = query.includes('sort=-started_at') ? '&sort=-started_at' : '';
      for (let next = found[0]!.next; next !== null; next = found.at(-1)!.next) {
        found.push(await page(traceId, `${sort}&cursor=${next}`));
      }
      return found;
    }

    const named = (count: number): string[] => Array.from({ length: count }, (_, index) => `step ${index}`);
    const namesOf = (found: SpanPage[]): string[] => found.flatMap(({ names }) => names);

    it('where many small spans share a large resource, without gaps or repeats, in either order', async () => {
      const traceId = await send(spansOf(70), { 'service.name': 'shop', blob: 'x'.repeat(MIB) });
      const found = await pages(traceId);
      expect(namesOf(found)).toEqual(named(70));
      expect(found).toHaveLength(3);
      for (const { bytes } of found) expect(bytes).toBeLessThan(32 * MIB);
      expect(namesOf(await pages(traceId, '&sort=-started_at'))).toEqual(named(70).reverse());
    });

    it('where the spans themselves are large, after an offset as well', async () => {
      const spans = spansOf(36, { blob: 'x'.repeat(MIB) });
      for (let start = 0; start < spans.length; start += 12) await send(spans.slice(start, start + 12));
      const found = await pages(spans[0]!.traceId, '&offset=2');
      expect(namesOf(found)).toEqual(named(36).slice(2));
      expect(found).toHaveLength(2);
      for (const { bytes } of found) expect(bytes).toBeLessThan(32 * MIB);
    });

    it('and never without a span, however large one is', async () => {
      // JSON writes each of these characters as six
      const traceId = await send(spansOf(2, { blob: '\u0001'.repeat(6 * MIB) }));
      expect((await pages(traceId)).map(({ names }) => names)).toEqual([['step 0'], ['step 1']]);
    });
  });
});
