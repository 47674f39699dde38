import {
  type Answer,
  type ApiClient,
  committedDocument,
  newOrganization,
  type TestApp,
  type TestOrganization,
} from '#testing';
import { ROWS } from './matrix.rows';
import { type Ids, isNeutral, populate, unknownIds } from './population';
import type { Row } from './row.fixture';
import { digestOf } from './tenant-digest';

/** A caller without access to the tenant's data, with the workspace of its requests. */
interface Outsider {
  name: string;
  client: ApiClient;
  /** The ids of the caller's own resources. */
  own: Ids;
  /** Whether the caller belongs to the same organization, whose organization-wide resources it may see. */
  isColleague: boolean;
  isPlatform?: boolean;
}

interface Request {
  method: string;
  path: string;
  body?: unknown;
  type: string | undefined;
  /** Whether the path contains ids of the other tenant. */
  namesTheirs: boolean;
}

const MARKER = 'zqxjkvbw';

export interface Matrix {
  /** Whether only the owner of another organization sends each operation, with its first body and query. */
  isShort?: boolean;
}

/**
 * Sends operations as callers without access to the workspace. The responses must equal those for resources that do not
 * exist, and nothing may change.
 */
export function testMatrix(app: TestApp, { isShort = false }: Matrix = {}): void {
  let theirs: TestOrganization;
  let ids: Ids;
  let absent: Ids;
  let outsiders: Outsider[];
  const before = new Map<string, Disclosure>();

  beforeAll(async () => {
    theirs = await newOrganization(app);
    const ours = await newOrganization(app);
    const own = await populate(await ours.member('owner'), ours.workspaceId, 'ours');
    const owner = [
      'an owner of another organization',
      app.api(await ours.token('owner')),
      own,
      false,
    ] as const;
    const clients = isShort ? [owner] : [owner, ...(await othersThan(ours, own))];
    outsiders = clients.flatMap(([name, client, theirOwn, isColleague]) =>
      [
        { name: `${name}, within their own workspace`, client: client.in(theirOwn.workspace_id!) },
        { name: `${name}, within this workspace`, client: client.in(theirs.workspaceId) },
        { name: `${name}, within no workspace`, client },
      ]
        // a viewer can see no more than an owner, and an anonymous caller is rejected first
        .filter((one) => !/viewer|anonymous/.test(name) || one.name.endsWith('this workspace'))
        .filter((one) => !isShort || one.name.endsWith('within their own workspace'))
        .map((one) => ({ ...one, own: theirOwn, isColleague, isPlatform: name.includes('platform') })),
    );
  });

  const operations = Object.entries(committedDocument().paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [`${method.toUpperCase()} ${path}`, path] as const),
  );

  it('is tested with every operation', () => {
    expect(Object.keys(ROWS).sort()).toEqual(operations.map(([label]) => label).sort());
  });

  it('is requested before it exists, for comparison', async () => {
    // users are provisioned with their first request
    for (const { client } of outsiders) await client.get('/registry/v1/me');
    // the workspace and the organization already exist
    absent = { ...unknownIds(await populatedIds()), org_id: `${theirs.orgId.slice(0, -3)}000` };
    await sendAll(absent, (key, disclosure) => before.set(key, disclosure));
    expect(before.size).toBeGreaterThan(isShort ? 200 : 1_000);
  }, 300_000);

  it('is not shown, mentioned, counted or changed', async () => {
    ids = {
      ...(await populate(await theirs.member('owner'), theirs.workspaceId, MARKER)),
      org_id: theirs.orgId,
    };
    const tenant = await digestOf(app.database, theirs.orgId, theirs.workspaceId);
    const faults: unknown[] = [];
    await sendAll(ids, (key, { text, isShown, isDone }, outsider, row) => {
      const expected = before.get(key)?.text;
      if (text !== expected && !(outsider.isColleague && row.isTotal))
        faults.push([key, { before: expected, now: text }]);
      if (isShown && !(outsider.isColleague && row.level === 'organization')) faults.push([key, text]);
      if (isDone) faults.push([key, text]);
    });
    expect(faults.slice(0, 10)).toEqual([]);
    expect(await digestOf(app.database, theirs.orgId, theirs.workspaceId)).toEqual(tenant);
  }, 300_000);

  it("is not shown for the tenant's cursor", async () => {
    const owner = (await theirs.member('owner')).in(theirs.workspaceId);
    let cursors = 0;
    for (const [label, path] of operations.filter(
      ([one, path]) => one.startsWith('GET') && !path.includes('{'),
    )) {
      if (ROWS[label]?.level === 'platform') continue;
      const { body } = await owner.get(`${path}?limit=1`);
      const cursor = (body as { page?: { next_cursor?: string } }).page?.next_cursor;
      if (typeof cursor !== 'string') continue;
      cursors += 1;
      for (const outsider of outsiders.filter(({ isColleague }) => !isColleague)) {
        const answer = await outsider.client.get(`${path}?cursor=${encodeURIComponent(cursor)}`);
        const { isShown } = disclosureOf(
          answer,
          { method: 'GET', path, type: undefined, namesTheirs: false },
          ids,
        );
        expect([outsider.name, label, isShown]).toEqual([outsider.name, label, false]);
      }
    }
    expect(cursors).toBeGreaterThan(3);
  });

  if (!isShort) testETags();

  it('is not replayed to others with the same Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'shared' };
    const body = { name: 'once' };
    const first = await (await theirs.member('owner')).post('/registry/v1/workspaces', body, key);
    expect(first.status).toBe(201);
    for (const { client, name } of outsiders) {
      const answer = await client.post('/registry/v1/workspaces', body, key);
      // the workspace header has no effect here, so an outsider's later requests repeat its first one
      const isReplayed = JSON.stringify(answer.body).includes(first.body.workspace_id as string);
      expect([name, isReplayed]).toEqual([name, false]);
    }
  });

  function testETags(): void {
    it('is not revealed by its ETag', async () => {
      const conditions = ['*', '"1", "2"'];
      for (const outsider of outsiders) {
        for (const [label, path] of operations.filter(
          ([one, path]) => one.startsWith('GET') && path.includes('{'),
        )) {
          const row = ROWS[label]!;
          if (isTheirs(row, outsider)) continue;
          for (const request of requestsOf(label, path, row, ids, outsider.own)) {
            for (const condition of conditions) {
              const { status } = await outsider.client.get(request.path, { 'if-none-match': condition });
              expect([outsider.name, label, status === 304 || status === 412]).toEqual([
                outsider.name,
                label,
                false,
              ]);
            }
          }
        }
      }
    }, 300_000);
  }

  /** Returns the outsiders other than an owner. */
  async function othersThan(ours: TestOrganization, own: Ids): Promise<[string, ApiClient, Ids, boolean][]> {
    const sibling = await theirs.newWorkspace();
    const owner = await theirs.member('owner');
    const ofColleague = await populate(owner, sibling, 'sibling');
    const bound = { name: 'bound', roles: ['admin'], workspace_ids: [sibling] };
    const { body: account } = await owner.post('/registry/v1/service-accounts', bound);
    const path = `/registry/v1/service-accounts/${account.service_account_id}/keys`;
    const { body } = await owner.post(path, { name: 'key' });
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    return [
      ['a viewer of another organization', app.api(await ours.token('viewer')), own, false],
      ['an admin of another workspace', app.api(body.key as string), ofColleague, true],
      ['a platform principal', app.api(await app.issuer.issueToken(claims)), own, false],
      ['an anonymous caller', app.api(), own, false],
    ];
  }

  /** Fills a workspace of a new organization. Returns the ids. */
  async function populatedIds(): Promise<Ids> {
    const org = await newOrganization(app);
    return { ...(await populate(await org.member('owner'), org.workspaceId, 'zqxjkvbw')) };
  }

  interface Disclosure {
    /** The response without values that differ between requests, with the names of ids instead of ids. */
    text: string;
    /** Whether the response contains data of the tenant. */
    isShown: boolean;
    /** Whether an operation on a resource of the tenant succeeded. */
    isDone: boolean;
  }

  async function sendAll(
    of: Ids,
    onResponse: (key: string, disclosure: Disclosure, outsider: Outsider, row: Row) => void,
  ): Promise<void> {
    for (const outsider of outsiders) {
      for (const [label, path] of operations) {
        const row = ROWS[label];
        if (!row || isTheirs(row, outsider)) continue;
        const requests = requestsOf(label, path, row, of, outsider.own);
        for (const [index, request] of requests.slice(0, isShort ? 1 : undefined).entries()) {
          const headers: Record<string, string> =
            request.type === undefined ? {} : { 'content-type': request.type };
          const answer = await outsider.client.request(request.method, request.path, {
            body: request.body,
            headers,
          });
          onResponse(
            `${outsider.name}: ${label} #${index}`,
            disclosureOf(answer, request, secretsOf(of, outsider)),
            outsider,
            row,
          );
        }
      }
    }
  }

  const isTheirs = (row: Row, { isColleague, isPlatform = false }: Outsider): boolean =>
    (row.level === 'organization' && isColleague) || (row.level === 'platform' && isPlatform);

  function disclosureOf(answer: Answer, request: Request, of: Ids): Disclosure {
    const { trace_id: _, ...body } = isObject(answer.body) ? answer.body : { text: answer.body as unknown };
    const names = ['etag', 'location', 'link', 'retry-after', 'content-disposition', 'www-authenticate'];
    const received = JSON.stringify([answer.status, body, names.map((name) => answer.headers.get(name))]);
    const sent = JSON.stringify([request.path, request.body ?? null]);
    const disclosed = Object.entries(of).filter(([name, id]) => !isNeutral(name) && received.includes(id));
    return {
      text: withNames(received, of),
      // the response may repeat what was sent
      isShown: answer.status < 300 && disclosed.some(([, id]) => !sent.includes(id)),
      isDone: answer.status < 300 && request.namesTheirs,
    };
  }
}

/** Returns the ids that an outsider must not see. Colleagues know the id of the organization. */
const secretsOf = ({ org_id, ...ids }: Ids, { isColleague }: Outsider): Ids =>
  isColleague ? ids : { ...ids, org_id: org_id! };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Replaces ids by their names. */
const withNames = (text: string, ids: Ids): string =>
  Object.entries(ids)
    .filter(([name]) => !isNeutral(name))
    .sort(([, a], [, b]) => b.length - a.length)
    .reduce((replaced, [name, id]) => replaced.replaceAll(id, `<${name}>`), text);

/** Returns the requests of an operation: with all ids of the tenant, or with own parents and the tenant's last ids. */
function requestsOf(label: string, path: string, row: Row, of: Ids, own: Ids): Request[] {
  const method = label.split(' ', 1)[0]!;
  const queries = row.queries?.(of) ?? [''];
  const bodies = row.bodies?.(of, own) ?? [undefined];
  return pathsOf(path, of, own).flatMap((one) =>
    queries.flatMap((query) =>
      bodies.map((body) => ({
        method,
        path: query === '' ? one : `${one}?${query}`,
        body,
        type: row.type,
        namesTheirs: path.includes('{'),
      })),
    ),
  );
}

function pathsOf(template: string, of: Ids, own: Ids): string[] {
  const names = [...template.matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => name!);
  const ownable = names.filter((name) => !isNeutral(name));
  const [, area] = template.split('/');
  return Array.from({ length: Math.max(1, ownable.length) }, (_, ownCount) => {
    const ours = new Set(ownable.slice(0, ownCount));
    return template.replace(/\{([a-z_]+)\}/g, (_text, name: string) => {
      const ids = ours.has(name) ? own : of;
      const id = ids[`/${area}/${name}`] ?? ids[name];
      if (id === undefined) throw new Error(`The population has no ${name}.`);
      return encodeURIComponent(id);
    });
  });
}
