import { expandRoles, reduceRoles, type Role, ROLES, scopeOf, workspaceScope } from '#platform/scope';
import type { Account } from '../auth/account-directory';
import type { Principal } from './principal';
import { buildPrincipal, type Grant, isBound, NO_GRANT } from '../auth/authenticator';

const account = (changes: Partial<Account> = {}): Account => ({
  type: 'user',
  id: 'u',
  orgId: 'org_1',
  status: 'active',
  roles: [],
  workspaceIds: null,
  memberships: [],
  allow: null,
  ...changes,
});

const build = (changes: Partial<Account>, grant: Grant = NO_GRANT): Principal & { orgId: string } => ({
  ...buildPrincipal(account(changes), grant, {
    kind: 'token',
    issuer: 'i',
    jti: null,
    expiresAt: new Date(),
  }),
  orgId: 'org_1',
});

const sorted = (roles: Iterable<Role>): Role[] => ROLES.filter((role) => new Set(roles).has(role));

describe('roles', () => {
  it.each<[Role, Role[]]>([
    ['viewer', ['viewer']],
    ['annotator', ['viewer', 'annotator']],
    ['editor', ['viewer', 'editor']],
    ['evaluator', ['viewer', 'annotator', 'editor', 'evaluator']],
    ['publisher', ['viewer', 'editor', 'publisher']],
    ['runtime', ['runtime']],
    ['admin', ROLES.filter((role) => role !== 'owner')],
    ['owner', [...ROLES]],
  ])('expand from %s to %s', (role, all) => {
    expect(sorted(expandRoles([role]))).toEqual(all);
    expect(reduceRoles(all)).toEqual([role]);
  });

  it('are all kept by reduceRoles if none contains another', () => {
    expect(reduceRoles(['viewer', 'publisher', 'evaluator', 'runtime'])).toEqual([
      'evaluator',
      'publisher',
      'runtime',
    ]);
  });
});

describe('the access of a principal', () => {
  it('combines the roles of its token and its account', () => {
    const scope = scopeOf(
      build(
        { roles: ['viewer'], memberships: [{ workspaceId: 'w1', roles: ['publisher'] }] },
        { roles: ['runtime'], workspaceIds: null },
      ),
    );
    expect(sorted(scope.roles)).toEqual(['viewer', 'runtime']);
    expect(sorted(scope.rolesIn('w1'))).toEqual(['viewer', 'editor', 'publisher', 'runtime']);
    expect(sorted(scope.rolesIn('w2'))).toEqual(['viewer', 'runtime']);
    expect(scope.workspacesWith('viewer')).toBeNull();
    expect(scope.workspacesWith('editor')).toEqual(new Set(['w1']));
    expect(scope.workspacesWith('admin')).toEqual(new Set());
  });

  it('is limited to the workspaces in the token, memberships included', () => {
    const scope = scopeOf(
      build(
        {
          roles: ['editor'],
          memberships: [
            { workspaceId: 'w1', roles: ['admin'] },
            { workspaceId: 'w2', roles: ['admin'] },
          ],
        },
        { roles: [], workspaceIds: ['w1'] },
      ),
    );
    expect(scope.rolesIn('w2').size).toBe(0);
    expect(scope.rolesIn('w3').size).toBe(0);
    expect(scope.rolesIn('w1').has('admin')).toBe(true);
    expect(scope.workspacesWith('viewer')).toEqual(new Set(['w1']));
    expect(scope.workspacesWith()).toEqual(new Set(['w1']));
  });

  it('is limited to its own workspaces for a service account, which a token cannot extend', () => {
    const bound = { type: 'service_account', roles: ['admin'], workspaceIds: ['w1', 'w2'] } as const;
    const changes = { ...bound, roles: [...bound.roles], workspaceIds: [...bound.workspaceIds] };
    expect(scopeOf(build(changes)).rolesIn('w3').size).toBe(0);
    const narrowed = build(changes, { roles: [], workspaceIds: ['w2', 'w3'] });
    expect(narrowed.workspaceIds).toEqual(new Set(['w2']));
    expect(isBound(narrowed)).toBe(true);
    expect(isBound(build(changes, { roles: [], workspaceIds: ['w3'] }))).toBe(false);
    expect(isBound(build({ ...changes, workspaceIds: [] }))).toBe(false);
    expect(
      isBound(
        build({ ...changes, workspaceIds: [], memberships: [{ workspaceId: 'w4', roles: ['viewer'] }] }),
      ),
    ).toBe(true);
  });

  it('is limited to the workspace of a request that requires one', () => {
    const scope = workspaceScope('org_1', 'w1', 'u', expandRoles(['editor']));
    expect(scope.rolesIn('w1').has('editor')).toBe(true);
    expect(scope.rolesIn('w2').size).toBe(0);
    expect(scope.workspacesWith('viewer')).toEqual(new Set(['w1']));
    expect(scope.workspacesWith('admin')).toEqual(new Set());
  });
});
