import { gzipSync } from 'node:zlib';
import { AUTHENTICATION_CODES, CATALOGUE, type ProblemCode } from '#platform/problem';
import { type Answer, documentedCodes, sharedApp } from '#testing';
import { type DocumentedOperation, documentedOperations, Resources } from './resources.fixture';

const OPERATIONS = documentedOperations();

/** Returns the first code that the document lists for each status of an operation. */
const firstCodesOf = (operationId: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(documentedCodes(operationId)).map(([status, [first]]) => [status, first!]),
  );

/** The codes that have more than one status. */
const OTHER_STATUSES: Partial<Record<ProblemCode, string[]>> = { request_timeout: ['408', '504'] };

describe('the codes of an operation', () => {
  it('are listed for each error status, and have this status', () => {
    const faults = OPERATIONS.flatMap(({ id, statuses }) => {
      const codes = documentedCodes(id);
      return statuses.flatMap((status) => {
        const isJsonRpc = id === 'runMcpRequest' && ['404', '406'].includes(status);
        if (!/^[45]\d\d$/.test(status) || isJsonRpc) return [];
        const listed = (codes[status] ?? []) as ProblemCode[];
        const belongs = listed.every((code) =>
          (OTHER_STATUSES[code] ?? [String(CATALOGUE[code].status)]).includes(status),
        );
        return listed.length > 0 && belongs ? [] : [`${id} ${status} ${listed.join()}`];
      });
    });
    expect(faults).toEqual([]);
  });

  it('include all 18 authentication error codes if the operation requires a token', () => {
    const others = OPERATIONS.filter(({ id, statuses }) => {
      const codes = documentedCodes(id)['401'];
      return statuses.includes('401') && id !== 'exchangeToken' && codes?.length !== 18;
    });
    expect(others.map(({ id }) => id)).toEqual([]);
    expect(documentedCodes('listApps')['401']).toEqual([...AUTHENTICATION_CODES].sort());
  });

  it.each([
    [
      'runScorer',
      {
        400: 'invalid_base64',
        401: 'alg_mismatch',
        403: 'access_denied',
        404: 'not_found',
        413: 'compressed_payload_too_large',
        415: 'unsupported_content_encoding',
        422: 'validation_failed',
        500: 'internal_error',
        503: 'auth_unavailable',
        504: 'request_timeout',
      },
    ],
    [
      'reconcileApp',
      {
        401: 'alg_mismatch',
        403: 'access_denied',
        404: 'not_found',
        409: 'conflict',
        422: 'validation_failed',
        500: 'internal_error',
        503: 'auth_unavailable',
        504: 'request_timeout',
      },
    ],
    [
      'forwardPut',
      {
        400: 'base_path_escaped',
        401: 'alg_mismatch',
        403: 'access_denied',
        404: 'not_found',
        500: 'internal_error',
        503: 'auth_unavailable',
        504: 'request_timeout',
      },
    ],
    ['updateAgent', { 422: 'immutable_field' }],
  ])('begin with the codes that the specification names: %s', (id, first) => {
    expect(firstCodesOf(id)).toMatchObject(first);
  });

  describe('in a response', () => {
    const app = sharedApp();
    let resources: Resources;

    beforeAll(async () => {
      resources = await Resources.in(app);
    });

    const operationOf = (id: string): DocumentedOperation => OPERATIONS.find((one) => one.id === id)!;
    const send = (
      id: string,
      body?: unknown,
      headers: Record<string, string> = {},
      suffix = '',
    ): Promise<Answer> => {
      const operation = operationOf(id);
      const path = resources.pathOf(operation) + suffix;
      return resources.callerOf(operation).request(operation.method, path, { body, headers });
    };

    it('are documented for each fault of a request for a scoring run', async () => {
      const run = { trace_ids: ['0'.repeat(31) + '1'], mode: 'preview' };
      const large = gzipSync(JSON.stringify({ ...run, trace_ids: ['x'.repeat(9 * 1024 * 1024)] }));
      const sent: [code: string, Promise<Answer>][] = [
        ['invalid_base64', send('runScorer', '%', { 'content-encoding': 'base64' })],
        ['invalid_query', send('runScorer', run, {}, '?mode=preview')],
        ['invalid_request', send('runScorer', { ...run, mode: 1 })],
        ['not_found', send('runScorer', run)],
        ['conflict', send('runScorer', run, { 'x-service-workspace-id': 'wsp_unknown' })],
        ['compressed_payload_too_large', send('runScorer', large, { 'content-encoding': 'gzip' })],
        ['unsupported_content_encoding', send('runScorer', run, { 'content-encoding': 'br' })],
        ['unsupported_media_type', send('runScorer', run, { 'content-type': 'text/plain' })],
        [
          'validation_failed',
          send('runScorer', { mode: 'preview', since: '2026-11-20T00:00:00Z', limit: 6 }),
        ],
      ];
      const codes = Object.values(documentedCodes('runScorer')).flat();
      for (const [code, answer] of sent) {
        expect(codes).toContain(code);
        expect((await answer).body).toMatchObject({ code });
      }
    });

    const PATCHES = OPERATIONS.filter(
      ({ method, path }) => method === 'PATCH' && /\}$/.test(path) && !path.startsWith('/api/'),
    );

    it.each(PATCHES.map(({ id, path }) => [id, /\{(\w+)\}$/.exec(path)![1]!]))(
      'include immutable_field if %s gets another %s',
      async (id, member) => {
        expect(documentedCodes(id)['422']).toContain('immutable_field');
        const { status, body } = await send(id, { [member]: 'other' });
        expect([status, body.code]).toEqual([422, 'immutable_field']);
      },
    );

    it.each<[code: ProblemCode, id: string, body: unknown]>([
      [
        'invalid_base64',
        'createSkill',
        {
          name: 'a',
          description: 'd',
          instructions: 'i',
          files: [{ path: 'a', content: '%', encoding: 'base64' }],
        },
      ],
      [
        'invalid_base64',
        'createSkillVersion',
        { description: 'd', instructions: 'i', files: [{ path: 'a', content: '%', encoding: 'base64' }] },
      ],
      ['immutable_field', 'createSkillVersion', { name: 'other', description: 'd', instructions: 'i' }],
      ['not_found', 'createExperiment', { name: 'n', dataset_id: 'ds_unknown' }],
      ['not_found', 'createScore', { scorer_id: 'scr_unknown', trace_id: '0'.repeat(31) + '1', score: true }],
    ])('include %s from %s', async (code, id, body) => {
      const { workspaceId: workspace_id } = resources;
      const isChild = id === 'createSkillVersion';
      const answer = await send(id, { ...(!isChild && { workspace_id }), ...(body as object) });
      expect(answer.body).toMatchObject({ code });
      expect(documentedCodes(id)[String(answer.status)]).toContain(code);
    });
  });
});
