import { decodeTraceRequest } from '../../../libs/otlp/decode.fixture';
import { type Scope, workspaceScope } from '#platform/auth';
import { inSlices } from '#platform/concurrency';
import {
  sharedApp,
  jsonExport,
  newOrganization,
  newSpan,
  newTraceId,
  SPAN_START,
  type TestSpan,
} from '#testing';
import { type TraceSelection, TraceStore } from '../../../src/telemetry';
import { TraceWriter } from '../../../src/telemetry/traces/trace.writer';

const ANY_SIZE = 1_000_000;
const MINUTE = 60_000_000_000n;

describe('the trace store', () => {
  const app = sharedApp();
  let store: TraceStore;

  beforeAll(() => {
    store = app.get(TraceStore);
  });

  async function newScope(): Promise<Scope> {
    const { orgId, workspaceId } = await newOrganization(app);
    return workspaceScope(orgId, workspaceId, 'test', new Set());
  }

  async function append(scope: Scope, ...spans: TestSpan[]): Promise<void> {
    const writer = app.get(TraceWriter);
    const body = jsonExport(spans);
    const steps = writer.prepare(scope, decodeTraceRequest(body, 'json').spans, body.length);
    await writer.write([await inSlices(steps)]);
  }

  /** Returns a trace with one root that starts this many minutes later. */
  const trace = (minute: number, session?: string): TestSpan =>
    newSpan({
      name: `at ${minute}`,
      start: SPAN_START + BigInt(minute) * MINUTE,
      end: SPAN_START + BigInt(minute) * MINUTE,
      attributes: session === undefined ? {} : { 'session.id': session },
    });

  const at = (minute: number): Date => new Date(Number(SPAN_START / 1_000_000n) + minute * 60_000);
  const names = (rows: { root_name: string | null }[]): (string | null)[] => rows.map((row) => row.root_name);
  const traces = async (scope: Scope, selection: TraceSelection, limit = 10): Promise<string[]> =>
    (await store.traceRefs(scope, selection, limit)).map((one) => one.trace_id);
  const sessions = async (scope: Scope, selection: TraceSelection, limit = 10): Promise<string[]> =>
    (await store.sessionRefs(scope, selection, limit)).map((one) => one.session_id);

  it('returns the root’s input and output, as JSON or text', async () => {
    const scope = await newScope();
    const span = newSpan({
      attributes: {
        'gen_ai.input.messages': '[{"role":"user","parts":[]}]',
        'gen_ai.output.messages': 'plain',
      },
    });
    await append(scope, span);
    const [stored] = await store.findTraces(scope, [span.traceId], ANY_SIZE);
    expect([stored?.input?.text, stored?.output?.text]).toEqual(['[{"role":"user","parts":[]}]', '"plain"']);
    const silent = newSpan();
    await append(scope, silent);
    expect(await store.findTraces(scope, [silent.traceId], ANY_SIZE)).toMatchObject([
      { input: null, output: null },
    ]);
  });

  it('takes input and output from the earliest root', async () => {
    const scope = await newScope();
    const later = newSpan({ start: SPAN_START + MINUTE, attributes: { 'input.value': 'later' } });
    await append(scope, later);
    await append(scope, newSpan({ traceId: later.traceId, attributes: { 'output.value': 'earlier' } }));
    const [stored] = await store.findTraces(scope, [later.traceId], ANY_SIZE);
    expect([stored?.input, stored?.output?.text]).toEqual([null, '"earlier"']);
  });

  it('finds existing traces among many ids', async () => {
    const scope = await newScope();
    const [one, other] = [trace(1), trace(2)];
    await append(scope, one, other);
    const ids = [one.traceId, newTraceId(), other.traceId];
    expect(names(await store.findTraces(scope, ids, ANY_SIZE)).sort()).toEqual(['at 1', 'at 2']);
    expect(names(await store.summarizeTraces(scope, ids)).sort()).toEqual(['at 1', 'at 2']);
    expect(await store.countTraces(scope, ids)).toBe(2);
    expect(await store.findTraces(scope, [newTraceId()], ANY_SIZE)).toEqual([]);
    expect(await store.findTraces(scope, [], ANY_SIZE)).toEqual([]);
  });

  it('selects the newest traces that match a selection', async () => {
    const scope = await newScope();
    const [first, second, third] = [trace(1, 'a'), trace(2, 'b'), trace(3, 'a')];
    await append(scope, first, second, third);
    const ids = [third, second, first].map((one) => one.traceId);
    expect(await traces(scope, {})).toEqual(ids);
    expect(await traces(scope, {}, 2)).toEqual(ids.slice(0, 2));
    expect(await traces(scope, { since: at(2) })).toEqual(ids.slice(0, 2));
    expect(await traces(scope, { until: at(2) })).toEqual([first.traceId]);
    const both = { trace_ids: [first.traceId, second.traceId], session_ids: ['a'] };
    expect(await traces(scope, both)).toEqual([first.traceId]);
    expect(await traces(scope, { trace_ids: [] })).toEqual([]);
    expect(await store.countSelectedTraces(scope, {})).toBe(3);
    expect(await store.countSelectedTraces(scope, both)).toBe(1);
  });

  it('selects sessions by their newest trace', async () => {
    const scope = await newScope();
    await append(scope, trace(1, 'a'), trace(2, 'b'), trace(3, 'a'), trace(4));
    expect(await sessions(scope, {})).toEqual(['a', 'b']);
    expect(await sessions(scope, { until: at(3) })).toEqual(['b', 'a']);
    expect(await sessions(scope, { session_ids: ['b', 'c'] })).toEqual(['b']);
    expect(await sessions(scope, {}, 1)).toEqual(['a']);
    const [newest] = await store.sessionRefs(scope, {}, 1);
    expect(await store.sessionRefs(scope, {}, 1, newest)).toMatchObject([{ session_id: 'b' }]);
    const [oldest] = await store.sessionRefs(scope, { until: at(3) }, 10, newest);
    expect(oldest).toMatchObject({ session_id: 'b' });
    expect(await store.countSelectedSessions(scope, {})).toBe(2);
    expect(await store.countSelectedSessions(scope, { until: at(2) })).toBe(1);
  });

  it('reads the traces of a session, and the spans of a trace, by start', async () => {
    const scope = await newScope();
    const [late, early] = [trace(3, 'a'), trace(1, 'a')];
    await append(scope, late, early, { ...trace(0), traceId: late.traceId, parentSpanId: late.spanId });
    expect(names(await store.sessionTraces(scope, 'a', 10, ANY_SIZE))).toEqual(['at 3', 'at 1']);
    expect(names(await store.sessionTraces(scope, 'a', 1, ANY_SIZE))).toEqual(['at 3']);
    const spans = await store.readSpans(scope, [late.traceId], { limit: 10, maxBytes: ANY_SIZE });
    expect(spans.map((span) => span.name)).toEqual(['at 0', 'at 3']);
    expect(await store.readSpans(scope, [late.traceId], { limit: 1, maxBytes: ANY_SIZE })).toHaveLength(1);
  });

  it('reads content up to a maximum size, and reports the total size', async () => {
    const scope = await newScope();
    const blob = 'x'.repeat(1_000);
    const large = (minute: number): TestSpan => ({
      ...trace(minute),
      attributes: { 'session.id': 'a', 'output.value': blob },
    });
    const [one, other] = [large(1), large(2)];
    const small = { ...trace(3), traceId: one.traceId, parentSpanId: one.spanId };
    await append(scope, one, other, small);
    const contents = (rows: { output: unknown; content_size: number }[]) =>
      rows.map(({ output, content_size }) => [output !== null, content_size]);
    expect(contents(await store.findTraces(scope, [one.traceId], 1_001))).toEqual([[false, 1_002]]);
    expect(contents(await store.findTraces(scope, [one.traceId], 1_002))).toEqual([[true, 1_002]]);
    const ofSession = await store.sessionTraces(scope, 'a', 10, 2_003);
    expect(contents(ofSession)).toEqual([
      [true, 1_002],
      [false, 1_002],
    ]);
    const spans = await store.readSpans(scope, [one.traceId], { limit: 10, maxBytes: 500 });
    expect(spans.map(({ name, attributes }) => [name, attributes?.text ?? null])).toEqual([
      ['at 1', null],
      ['at 3', '{}'],
    ]);
    expect(spans[0]!.content_size).toBeGreaterThan(1_000);
    expect(await store.readSpans(scope, [one.traceId], { limit: 10, maxBytes: 7 })).toHaveLength(1);
  });

  it('shows nothing to another workspace', async () => {
    const span = trace(1, 'a');
    await append(await newScope(), span);
    const other = await newScope();
    const page = await store.listSpans(other, span.traceId, {});
    expect([page.rows, page.page.total]).toEqual([[], 0]);
    expect(await store.findTraces(other, [span.traceId], ANY_SIZE)).toEqual([]);
    expect(await store.summarizeTraces(other, [span.traceId])).toEqual([]);
    expect(await store.countTraces(other, [span.traceId])).toBe(0);
    expect(await store.readSpans(other, [span.traceId], { limit: 10, maxBytes: ANY_SIZE })).toEqual([]);
    expect(await traces(other, { trace_ids: [span.traceId] })).toEqual([]);
    expect(await sessions(other, { session_ids: ['a'] })).toEqual([]);
    expect(await store.countSelectedTraces(other, {})).toBe(0);
    expect(await store.countSelectedSessions(other, {})).toBe(0);
    expect(await store.sessionTraces(other, 'a', 10, ANY_SIZE)).toEqual([]);
  });

  it('stores a shared resource and scope once', async () => {
    const scope = await newScope();
    for (let round = 0; round < 3; round++) await append(scope, trace(1), trace(2));
    const rows = await app.database.query('SELECT 1 FROM span_sources WHERE workspace_id = $1', [
      scope.workspaceId,
    ]);
    expect(rows).toHaveLength(1);
  });
});
