import { sharedApp } from '#testing';
import { type Acquisition, ACQUISITIONS, OPEN, StoreOrg, unpacked } from './store.fixture';

const CHECKS = { scorer_kind: 'code', definition: { checks: [{ type: 'equals' }] } };

/** Publishes each kind in one organization and acquires it in another, only through the API. */
describe('a resource from the store', () => {
  const app = sharedApp();
  let publisher: StoreOrg;
  let buyer: StoreOrg;

  beforeAll(async () => {
    publisher = await StoreOrg.open(app);
    buyer = await StoreOrg.open(app);
  });

  async function file(): Promise<string> {
    const path = `/file/v1/files?workspace_id=${publisher.workspace}&name=notes.txt`;
    const { body } = await publisher.admin.post<{ file_id: string }>(path, 'some notes', {
      'content-type': 'text/plain',
    });
    return body.file_id;
  }

  async function dataset(): Promise<string> {
    const { dataset_id } = await publisher.make<{ dataset_id: string }>('/eval/v1/datasets', {
      name: 'cases',
    });
    await publisher.make(`/eval/v1/datasets/${dataset_id}/records`, { input: { q: '1 + 1' }, expected: 2 });
    return dataset_id;
  }

  const MADE: Record<string, { path: string; make: () => Promise<string> }> = {
    skill: {
      path: '/skill/v1/skills',
      make: async () => (await publisher.skill()).skill_id,
    },
    agent: { path: '/agent/v1/agents', make: async () => (await publisher.agent()).agent_id },
    mcp_server: {
      path: '/mcp/v1/servers',
      make: async () => {
        const server = { name: 'tickets', url: 'https://mcp.example.com/mcp', auth: { type: 'bearer', value: 's3cret-token' } };
        return (await publisher.make<{ server_id: string }>('/mcp/v1/servers', server)).server_id;
      },
    },
    file: { path: '/file/v1/files', make: file },
    dataset: { path: '/eval/v1/datasets', make: dataset },
    scorer: {
      path: '/eval/v1/scorers',
      make: async () => (await publisher.make<{ scorer_id: string }>('/eval/v1/scorers', { name: 'exact', ...CHECKS })).scorer_id,
    },
  }; // oxfmt-ignore

  it.each(Object.keys(MADE))('is copied without ids and secrets, and does not change: %s', async (kind) => {
    const { path, make } = MADE[kind]!;
    const id = await make();
    const item = await publisher.publish(kind, id);
    await publisher.setPolicy(item.store_item_id, OPEN);
    const text = JSON.stringify(await unpacked(await buyer.download(item.store_item_id)));
    expect(text).not.toMatch(/s3cret|(org|wsp|agt|skl|mcps|tool|file|ds|rec|scr|ver|usr)_[0-9a-z]{26}/);
    const { status, body } = await buyer.acquire(item.store_item_id);
    expect([status, body.copies.at(-1)!.kind]).toEqual([201, kind]);
    const copy = body.copies.at(-1)!;
    const by = path.startsWith('/eval') ? buyer.admin.in(buyer.workspace) : buyer.admin;
    const copied = await by.get<{ acquired_from: { artifact_id: string }; workspace_id: string }>(`${path}/${copy.artifact_id}`);
    expect([copied.status, copied.body.acquired_from.artifact_id, copied.body.workspace_id]).toEqual([200, id, buyer.workspace]);
    const again = await buyer.admin.post<Acquisition>(`${ACQUISITIONS}/${body.acquisition_id}/upgrade`, { release_id: item.source.release_id });
    expect(new Set(again.body.changes!.map(({ change }) => change))).toEqual(new Set(['unchanged']));
    const republished = await buyer.publish(kind, copy.artifact_id);
    expect([kind, republished.sha256]).toEqual([kind, item.sha256]);
  }); // oxfmt-ignore
});
