import { newId } from '#platform/ids';
import { expandRoles, type Scope, workspaceScope } from '#platform/auth';
import { sharedApp } from '#testing';
import {
  type Declared,
  ReconcileSteps,
  type ReconcileStep,
  ReconcileError,
  type ReconcileResult,
} from '../../../src/resources';
import { SkillDirectory } from '../../../src/skills';
import { SkillCallers, SKILLS } from './skills.fixture';

describe('skills that an app declares', () => {
  const app = sharedApp();
  let callers: SkillCallers;
  let step: ReconcileStep;

  beforeAll(async () => {
    callers = await SkillCallers.of(app);
    step = app.get(ReconcileSteps).of('skill');
  });

  let made = 0;
  interface ReconciledApp {
    scope: Scope;
    owner: { appId: string; app: string };
    list: () => Promise<any[]>;
    reconcile: (specs: Record<string, object>) => Promise<ReconcileResult>;
  }
  /** Creates an app in a new workspace. */
  async function newApp(workspaceId?: string): Promise<ReconciledApp> {
    const workspace = workspaceId ?? (await callers.org.newWorkspace());
    const scope = workspaceScope(callers.org.orgId, workspace, 'test', expandRoles(['admin']));
    const owner = { appId: newId('app'), app: `app-${(made += 1)}` };
    return {
      scope,
      owner,
      list: async () => {
        const { body } = await callers.editor.get(`${SKILLS}?workspace_id=${workspace}&sort=name`);
        return body.items as any[];
      },
      reconcile: (specs) => app.database.transaction((tx) => step.apply(tx, scope, owner, declaredOf(specs))),
    };
  }
  const declaredOf = (specs: Record<string, object>): Declared[] =>
    Object.entries(specs).map(([name, spec], index) => ({
      name,
      spec: spec as Record<string, unknown>,
      pointer: `/resources/${index}`,
    }));
  const spec = (instructions: string, more: object = {}) => ({ description: 'd', instructions, ...more });

  it('are created, changed and archived as declared', async () => {
    const { list, reconcile, owner } = await newApp();
    const first = await reconcile({
      one: spec('1', { files: [{ path: 'a', content: 'a' }] }),
      two: spec('2'),
    });
    expect([first.created.length, first.updated, first.archived, first.liveCount]).toEqual([2, [], [], 2]);
    const [one, two] = await list();
    expect([one, two]).toMatchObject([
      { name: 'one', sync_state: 'synced', app: owner.app, file_count: 2, version_ordinal: 1 },
      { name: 'two', sync_state: 'synced', app: owner.app },
    ]);
    const second = await reconcile({ one: spec('changed'), three: spec('3') });
    expect([second.created.length, second.updated, second.archived, second.liveCount]).toEqual([
      1,
      [one.skill_id],
      [two.skill_id],
      2,
    ]);
    const before = await list();
    expect(before).toMatchObject([{ name: 'one', version_ordinal: 2, file_count: 1 }, { name: 'three' }]);
    const written = () =>
      app.database.query(
        `SELECT (SELECT count(*) FROM audit_log) AS entries, (SELECT count(*) FROM skill_versions) AS versions,
           (SELECT max(xmin::text::bigint) FROM skills) AS change`,
      );
    const state = await written();
    expect(await reconcile({ one: spec('changed'), three: spec('3') })).toEqual({
      created: [],
      updated: [],
      restored: [],
      archived: [],
      liveCount: 2,
    });
    expect(await written()).toEqual(state);
    expect(await list()).toEqual(before);
  });

  it('drift when someone changes them, until the next reconcile', async () => {
    const { list, reconcile } = await newApp();
    await reconcile({ one: spec('1') });
    const [{ skill_id }] = await list();
    await callers.editor.patch(`${SKILLS}/${skill_id}`, { license: 'MIT' });
    expect(await list()).toMatchObject([{ sync_state: 'drifted', version_ordinal: 2 }]);
    expect((await reconcile({ one: spec('1') })).updated).toEqual([skill_id]);
    expect(await list()).toMatchObject([{ sync_state: 'synced', version_ordinal: 3, license: null }]);
    const uploaded = await callers.editor.post(`${SKILLS}/${skill_id}/versions`, { ...spec('other') });
    expect(uploaded.status).toBe(201);
    expect(await list()).toMatchObject([{ sync_state: 'drifted' }]);
    const drifted = await callers.editor.get(`${SKILLS}?sync_state=drifted&name=one`);
    expect(drifted.body.items).toMatchObject([{ skill_id }]);
    // restored to the declaration by hand
    await callers.editor.post(`${SKILLS}/${skill_id}/versions`, { ...spec('1') });
    expect((await reconcile({ one: spec('1') })).updated).toEqual([]);
    expect(await list()).toMatchObject([{ sync_state: 'synced', version_ordinal: 5 }]);
  });

  it('are rejected if their names are taken', async () => {
    const { scope, list, reconcile } = await newApp();
    const other = await newApp(scope.workspaceId);
    await other.reconcile({ theirs: spec('t') });
    await callers.create({ name: 'unmanaged', workspace_id: scope.workspaceId });
    const before = await list();
    const refused = await reconcile({ fine: spec('f'), theirs: spec('x'), unmanaged: spec('x') }).catch(
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(ReconcileError);
    expect((refused as ReconcileError).faults.map(({ pointer }) => pointer)).toEqual([
      '/resources/1/name',
      '/resources/2/name',
    ]);
    expect(await list()).toEqual(before);
  });

  it('are marked as owned, and released', async () => {
    const { scope, owner, list, reconcile } = await newApp();
    await reconcile({ one: spec('1'), two: spec('2') });
    await app.database.transaction((tx) => step.rows.mark(tx, scope, owner.appId, ['one'], 'pending'));
    expect(await list()).toMatchObject([{ sync_state: 'pending', generation: 2 }, { sync_state: 'synced' }]);
    await app.database.transaction((tx) => step.rows.mark(tx, scope, owner.appId, ['one', 'two'], 'failed'));
    await app.database.transaction((tx) => step.rows.resetFailed(tx, scope, owner.appId, ['two']));
    expect(await list()).toMatchObject([{ sync_state: 'pending', generation: 4 }, { sync_state: 'failed' }]);
    await app.database.transaction((tx) => step.rows.release(tx, scope, owner.appId));
    expect(await list()).toMatchObject([
      { app: null, sync_state: 'unmanaged' },
      { app: null, sync_state: 'unmanaged' },
    ]);
  });

  it.each([
    ['Upper', spec('x'), '/resources/3/name'],
    ['one', {}, '/resources/3/spec/description'],
    ['one', spec('x', { files: [{ path: '../x', content: '' }] }), '/resources/3/spec/files/0/path'],
    [
      'one',
      spec('x', { files: [{ path: 'x', content: '%', encoding: 'base64' }] }),
      '/resources/3/spec/files/0/content',
    ],
    [
      'one',
      spec('x', { files: [{ path: 'x', content: '', encoding: 'x' }] }),
      '/resources/3/spec/files/0/encoding',
    ],
  ])('named %j are validated: %j', (name, declared, pointer) => {
    const faults = step.faultsIn(name, declared as Record<string, unknown>, '/resources/3/spec');
    expect(faults).toContainEqual({ pointer, detail: expect.any(String) as string });
    expect(step.faultsIn('one', spec('x'), '/resources/3/spec')).toEqual([]);
  });

  it('are reconciled in a fixed number of statements', async () => {
    const { reconcile } = await newApp();
    const count = async (specs: Record<string, object>): Promise<number> => {
      const { scope, owner } = await newApp();
      let statements = 0;
      await app.database.transaction((tx) => {
        const counted = new Proxy(tx, {
          get: (target, member, receiver) => {
            if (member === 'query' || member === 'manager') statements++;
            return Reflect.get(target, member, receiver) as unknown;
          },
        });
        return step.apply(counted, scope, owner, declaredOf(specs));
      });
      return statements;
    };
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`skill-${i}`, spec(`of ${i}`)]));
    expect(await count(many)).toBe(await count({ one: spec('of one alone') }));
    const reconciled = await reconcile(many);
    expect([reconciled.created.length, reconciled.liveCount]).toEqual([300, 300]);
    expect((await reconcile({})).archived.length).toBe(300);
  });

  it('are resolved within their workspace', async () => {
    const { scope, list, reconcile } = await newApp();
    await reconcile({ one: spec('1'), two: spec('2') });
    await reconcile({ one: spec('changed'), two: spec('2') });
    const [one, two] = await list();
    const directory = app.get(SkillDirectory);
    const elsewhere = await callers.create({ name: 'elsewhere' });
    const resolved = await directory.resolve(app.database, scope, [
      { skill_id: two.skill_id },
      { skill_id: one.skill_id, version_ordinal: 1 },
      { skill_id: one.skill_id },
      { skill_id: one.skill_id, version_ordinal: 3 },
      { skill_id: elsewhere.body.skill_id },
      { skill_id: 'skl_none' },
    ]);
    expect(resolved.map((each) => each && [each.name, each.version_ordinal])).toEqual([
      ['two', 1],
      ['one', 1],
      ['one', 2],
      null,
      null,
      null,
    ]);
    expect(resolved[2]!.source_digest).toBe(one.source_digest);
    expect(await directory.idsByName(app.database, scope, ['two', 'elsewhere'])).toEqual(
      new Map([['two', two.skill_id]]),
    );
    await callers.admin.post(`${SKILLS}/${two.skill_id}/archive`);
    expect(await directory.resolve(app.database, scope, [{ skill_id: two.skill_id }])).toEqual([null]);
  });
});
