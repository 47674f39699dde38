import type { Bench } from '../bench';
import { compare } from '../measure';

const SKILLS = 50;
const ITEMS = 10_000;
const PAGE = 50;
const READS = 50;

/** Publishes an agent with 50 skills, compared with publishing one of the skills, in milliseconds. */
export async function publishAgent(bench: Bench): Promise<void> {
  const { workspaceId: workspace_id } = bench.scope;
  const create = <Created>(path: string, body: object): Promise<Created> =>
    bench.http.json<Created>('POST', path, 201, { workspace_id, ...body });
  const skills: { skill_id: string }[] = [];
  for (let n = 0; n < SKILLS; n++) {
    const content = `print(${n})\n`.repeat(500);
    const files = ['fill', 'read', 'check'].map((name) => ({ path: `scripts/${name}.py`, content }));
    const name = `skill-${n}-${Date.now()}`;
    const skill = { name, description: 'a skill', instructions: 'how '.repeat(500), files };
    const { skill_id } = await create<{ skill_id: string }>('/skill/v1/skills', skill);
    skills.push({ skill_id });
  }
  const agent = { name: `agent-${Date.now()}`, instructions: 'be kind', skills };
  const { agent_id } = await create<{ agent_id: string }>('/agent/v1/agents', agent);
  const publish = async (kind: string, artifact_id: string): Promise<number> => {
    const startedAt = performance.now();
    await create('/store/v1/publisher/items', {
      artifact: { kind, artifact_id },
      name: 'bench',
      category: 'other',
      license: 'MIT',
      actions: ['install'],
    });
    return performance.now() - startedAt;
  };
  const comparison = await compare([
    { name: 'one skill', measure: () => publish('skill', skills[0]!.skill_id) },
    { name: 'agent with 50 skills', measure: () => publish('agent', agent_id) },
  ]);
  bench.report('publish', 'ms', comparison, ['one skill', 'agent with 50 skills']);
}

/** Reads the first and the last page of 10,000 items in the publisher's list and in the catalogue, in milliseconds. */
export async function listStore(bench: Bench): Promise<void> {
  await fillItems(bench);
  const time = async (path: string): Promise<number> => {
    const startedAt = performance.now();
    for (let n = 0; n < READS; n++) await bench.http.send('GET', path, 200);
    return (performance.now() - startedAt) / READS;
  };
  const publisherItems = '/store/v1/publisher/items';
  const last = await lastCursor(bench);
  const sides = [
    ['publisher, first page', `${publisherItems}?limit=${PAGE}`],
    ['publisher, last page', `${publisherItems}?limit=${PAGE}&offset=${ITEMS - PAGE}`],
    ['catalogue, first page', `/store/v1/items?limit=${PAGE}`],
    ['catalogue, last page', `/store/v1/items?limit=${PAGE}&cursor=${last}`],
  ] as const;
  const comparison = await compare(sides.map(([name, path]) => ({ name, measure: () => time(path) })));
  bench.report(
    `page of ${PAGE} of 10,000 store items`,
    'ms',
    comparison,
    sides.map(([name]) => name),
  );
}

/** Copies one item by SQL, and lists all copies publicly. */
async function fillItems(bench: Bench): Promise<void> {
  const { workspaceId: workspace_id } = bench.scope;
  const skill = { workspace_id, name: `listed-${Date.now()}`, description: 'x', instructions: 'x' };
  const { skill_id } = await bench.http.json<{ skill_id: string }>('POST', '/skill/v1/skills', 201, skill);
  const body = {
    workspace_id,
    artifact: { kind: 'skill', artifact_id: skill_id },
    name: 'listed',
    category: 'skills',
    license: 'MIT',
    actions: ['install'],
  };
  const item = await bench.http.json<{ store_item_id: string }>(
    'POST',
    '/store/v1/publisher/items',
    201,
    body,
  );
  const columns = `org_id, workspace_id, artifact_kind, artifact_id, name, category, license, highlights, topics,
    is_reviewed, release_id, publication_id, actions, manifest, sha256, size_bytes, file_count, policy_generation,
    is_public, org_ids, is_listed, can_acquire, generation, created_at, updated_at, created_by`;
  const values = columns.replace('is_public', 'true').replace('is_listed', 'true');
  await bench.direct.query(
    `INSERT INTO store_items (store_item_id, ordinal, ${columns})
     SELECT 'item_' || lpad(n::text, 26, '0'), item.ordinal + n, ${values}
     FROM store_items item, generate_series(1, ${ITEMS}) n WHERE store_item_id = $1`,
    [item.store_item_id],
  );
  await bench.direct.query(
    `INSERT INTO store_listings (audience, facet, store_item_id)
     SELECT '*', '', 'item_' || lpad(n::text, 26, '0') FROM generate_series(1, ${ITEMS}) n`,
  );
  await bench.direct.query('UPDATE store_item_counts SET count = (SELECT max(ordinal) FROM store_items)');
}

/** Reads the catalogue up to the cursor of its last page. */
async function lastCursor(bench: Bench): Promise<string> {
  let cursor = '';
  for (let read = 0; read < ITEMS - 500; read += 500) {
    const path = `/store/v1/items?limit=500${cursor && `&cursor=${cursor}`}`;
    const { page } = await bench.http.json<{ page: { next_cursor: string | null } }>('GET', path, 200);
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  return cursor;
}
