import { expandRoles, type Scope, workspaceScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { sharedApp } from '#testing';
import { ReconcileSteps, type ReconcileStep } from '../../../src/resources';
import { SkillCallers, SKILLS } from './skills.fixture';

const MIB = 1024 * 1024;

/** A recorded statement of a reconcile. */
interface RecordedStatement {
  text: string;
  /** Turns of the event loop since the previous statement. */
  turns: number;
  /** Size of its rows as JSON. */
  bytes: number;
}

/** Wraps a transaction so that it records its statements. */
function recorded(tx: Tx): { on: Tx; seen: RecordedStatement[]; stop: () => void } {
  const seen: RecordedStatement[] = [];
  let turns = 0;
  let last = 0;
  const count = () => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const query: Tx['query'] = async <Row>(...[statement, values]: Parameters<Tx['query']>) => {
    const entry = {
      text: typeof statement === 'string' ? statement : statement.text,
      turns: turns - last,
    };
    const rows = await tx.query<Row>(statement, values);
    seen.push({ ...entry, bytes: JSON.stringify(rows).length });
    last = turns;
    return rows;
  };
  const on = new Proxy(tx, {
    get: (target, member) => (member === 'query' ? query : (Reflect.get(target, member, target) as unknown)),
  });
  return { on, seen, stop: () => clearImmediate(timer) };
}

describe('reconciling many skills', () => {
  const app = sharedApp();
  let callers: SkillCallers;
  let step: ReconcileStep;
  let scope: Scope;
  let owner: { appId: string; app: string };

  beforeAll(async () => {
    callers = await SkillCallers.of(app);
    step = app.get(ReconcileSteps).of('skill');
  });
  beforeEach(async () => {
    const workspace = await callers.org.newWorkspace();
    scope = workspaceScope(callers.org.orgId, workspace, 'test', expandRoles(['admin']));
    owner = { appId: newId('app'), app: 'reconciled' };
  });

  const spec = (instructions: string, more: object = {}) => ({ description: 'd', instructions, ...more });
  const END = 'SELECT 1 AS the_end';
  async function reconcile(specs: Record<string, object>) {
    const declared = Object.entries(specs).map(([name, one], index) => ({
      name,
      spec: one as Record<string, unknown>,
      pointer: `/resources/${index}`,
    }));
    return app.database.transaction(async (tx) => {
      const { on, seen, stop } = recorded(tx);
      try {
        const reconciled = await step.apply(on, scope, owner, declared);
        await on.query(END);
        return { ...reconciled, seen };
      } finally {
        stop();
      }
    });
  }
  const many = (count: number, content: (index: number) => object) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`skill-${index}`, content(index)]));
  const turnsBefore = (seen: readonly RecordedStatement[], text: string): number =>
    Math.max(...seen.filter((one) => one.text.includes(text)).map(({ turns }) => turns));

  it('does not block the event loop', async () => {
    const specs = many(100, (index) => spec(`of ${index}`));
    const made = await reconcile(specs);
    expect(turnsBefore(made.seen, 'FROM skill_blobs')).toBeGreaterThanOrEqual(4);
    expect(turnsBefore(made.seen, 'INSERT INTO skill_versions')).toBeGreaterThanOrEqual(4);
    const again = await reconcile(specs);
    expect([again.updated, again.seen.length]).toEqual([[], 2]);
    expect(turnsBefore(again.seen, END)).toBeGreaterThanOrEqual(4);
  });

  it('reads only changed skills whole, a few MiB at a time', async () => {
    const large = 'x'.repeat(MIB - 1024);
    const bytesOf = (seen: readonly RecordedStatement[]) => seen.map(({ bytes }) => bytes);
    const specs = many(9, (index) => spec(`${index} ${large}`));
    const { created } = await reconcile(specs);
    expect(Math.max(...bytesOf((await reconcile(specs)).seen))).toBeLessThan(10_000);
    const names = Object.keys(specs);
    await app.database.transaction((tx) => step.rows.mark(tx, scope, owner.appId, names, 'pending'));
    expect(Math.max(...bytesOf((await reconcile(specs)).seen))).toBeLessThan(10_000);
    const { body } = await callers.editor.get(
      `${SKILLS}?workspace_id=${scope.workspaceId}&sync_state=synced&limit=0`,
    );
    expect(body.page.total).toBe(9);
    const changed = await reconcile(many(9, (index) => spec(`${index}`)));
    expect(changed.updated.sort()).toEqual(created.sort());
    const whole = bytesOf(changed.seen).filter((bytes) => bytes > MIB / 2);
    expect(whole.length).toBe(3);
    expect(Math.max(...whole)).toBeLessThan(5 * MIB);
    await reconcile(specs);
    const emptied = await reconcile({});
    expect(emptied.archived.sort()).toEqual(created.sort());
    expect(Math.max(...bytesOf(emptied.seen))).toBeLessThan(10_000);
  });

  it('does not confuse declarations with the same name or content', async () => {
    const shared = spec('shared', { license: 'MIT' });
    expect(step.faultsIn('one', shared, '/resources/0/spec')).toEqual([]);
    expect(step.faultsIn('Two', shared, '/resources/1/spec')).toMatchObject([
      { pointer: '/resources/1/name' },
    ]);
    expect(step.faultsIn('Two', shared, '/resources/1/spec')).toHaveLength(1);
    const wrong = { ...shared, license: 1 };
    expect(step.faultsIn('one', wrong, '/resources/0/spec')).toHaveLength(1);
    expect(step.faultsIn('one', wrong, '/resources/0/spec')).toHaveLength(1);
    const { created } = await reconcile({ one: shared, two: shared });
    expect((await reconcile({ one: shared, two: shared })).updated).toEqual([]);
    const other = spec('shared', { license: 'ISC' });
    expect(step.faultsIn('one', other, '/resources/0/spec')).toEqual([]);
    expect((await reconcile({ one: other, two: shared })).updated).toEqual([created[0]]);
  });
});
