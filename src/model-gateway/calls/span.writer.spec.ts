import type { TraceExportService } from '../../telemetry';
import type { JsonObject } from '../formats/json-shape';
import { SpanWriter } from './span.writer';

interface Exported {
  workspaceId: string;
  spans: JsonObject[];
}

describe('spans of calls', () => {
  const exported: Exported[] = [];
  let failures = 0;
  const traces = {
    export: ({ workspaceId }: { workspaceId: string }, { bytes }: { bytes: Buffer }) => {
      if (failures > 0) return Promise.reject(new Error(`failure ${failures--}`));
      const { resourceSpans } = JSON.parse(bytes.toString()) as { resourceSpans: any[] };
      exported.push({ workspaceId, spans: resourceSpans[0].scopeSpans[0].spans as JsonObject[] });
      return Promise.resolve();
    },
  } as unknown as TraceExportService;
  let writer: SpanWriter;

  beforeEach(() => {
    exported.length = 0;
    failures = 0;
    writer = new SpanWriter(traces);
  });

  const span = (name: string): JsonObject => ({ name });

  it('are exported together, once per workspace, if their calls end together', async () => {
    await Promise.all([
      writer.add('org', 'one', span('a')),
      writer.add('org', 'two', span('b')),
      writer.add('org', 'one', span('c')),
    ]);
    expect(exported).toEqual([
      { workspaceId: 'one', spans: [span('a'), span('c')] },
      { workspaceId: 'two', spans: [span('b')] },
    ]);
  });

  it('are split into several exports if they are large', async () => {
    const large = span('x'.repeat(3 * 1024 * 1024));
    await Promise.all([large, large, span('a'), large].map((one) => writer.add('org', 'one', one)));
    expect(exported.map(({ spans }) => spans.length)).toEqual([2, 2]);
  });

  it('do not delay calls or later spans if they cannot be stored', async () => {
    failures = 1;
    await writer.add('org', 'one', span('lost'));
    // synchronously, before any other task runs
    await writer.add('org', 'one', span('stored'));
    expect(exported).toEqual([{ workspaceId: 'one', spans: [span('stored')] }]);
  });
});
