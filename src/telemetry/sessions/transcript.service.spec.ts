import type { Scope } from '#platform/auth';
import { TranscriptService } from './transcript.service';

describe('TranscriptService', () => {
  it('ends a page that takes too long after a trace, even without items', async () => {
    let now = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    const read: string[] = [];
    const store = {
      withSignal: () => store,
      findTraces: (_: Scope, ids: string[]) => {
        read.push(...ids);
        now += 60_000;
        return Promise.resolve([]);
      },
    };
    const places = ['1', '2', '3'].map((n) => ({ trace_id: n.repeat(32), started_us: n }));
    const on = { query: () => Promise.resolve(places) };
    const limiter = { read: (_: Scope, __: string, work: (db: typeof on) => unknown) => work(on) };
    const sessions = { get: () => Promise.resolve({}) };
    const service = new TranscriptService(limiter as never, store as never, {} as never, sessions as never);
    const scope = { workspaceId: 'w', key: {} } as unknown as Scope;
    const { items, page } = await service.list(scope, 's', {}, new AbortController().signal);
    clock.mockRestore();
    expect([items, page.next_cursor]).toEqual([[], expect.any(String)]);
    expect(read).toEqual([places[0]!.trace_id]);
  });
});
