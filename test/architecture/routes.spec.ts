import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { ACCESS_RULE, type AccessRule, isRead, WORKSPACE_REQUIRED } from '#platform/auth';
import type { ServiceAdapter } from '#platform/http';
import { committedDocument, sharedApp, type TestApp } from '#testing';
import { BODY_RULE, type BodyRule } from '../../libs/platform/http/body.decorator';
import { NOT_REPEATABLE } from '../../libs/platform/http/idempotency';

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, DocumentedResponse> }>>;
  components: { schemas: Record<string, { properties?: object }> };
}

interface DocumentedResponse {
  content?: Record<string, { schema: { $ref?: string } }>;
}

interface Route {
  label: string;
  rule: AccessRule | undefined;
  inWorkspace: boolean;
  /** Whether a repeat with the same Idempotency-Key returns the first response again. */
  isRepeatable: boolean;
  /** The maximum size of the body, if it is fixed. */
  limit: unknown;
}

/** Returns every route of every controller, with the declarations of its decorators. */
function routesOf(app: TestApp): Route[] {
  const controllers = [...app.get(ModulesContainer).values()].flatMap((module) =>
    [...module.controllers.values()].map((wrapper) => wrapper.metatype as Type),
  );
  return [...new Set(controllers)].flatMap((controller) => {
    const prototype = controller.prototype as Record<string, object>;
    // inherited routes included
    return new MetadataScanner().getAllMethodNames(prototype).flatMap((name) => {
      const handler = prototype[name]!;
      const path = Reflect.getMetadata(PATH_METADATA, handler) as string | undefined;
      if (path === undefined) return [];
      const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number];
      const base = String(Reflect.getMetadata(PATH_METADATA, controller));
      const declared = (key: string): unknown =>
        Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller);
      return [
        {
          label: `${method} /${[base, path]
            .map((part) => part.replace(/^\/|\/$/g, ''))
            .filter(Boolean)
            .join('/')}`,
          rule: declared(ACCESS_RULE) as AccessRule | undefined,
          inWorkspace: declared(WORKSPACE_REQUIRED) === true,
          isRepeatable: declared(NOT_REPEATABLE) !== true,
          limit: (declared(BODY_RULE) as BodyRule | undefined)?.limit,
        },
      ];
    });
  });
}

/** The paths that Nest's routes do not serve, with their operations in openapi.json. */
const MOUNTS = {
  '/api/v1/apis/': ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  '/model/v1/chat/completions': ['POST'],
  '/model/v1/responses': ['POST'],
  '/model/v1/embeddings': ['POST'],
  '/model/v1/messages': ['POST'],
  '/model/v1/messages/count_tokens': ['POST'],
};

const isMounted = (path: string): boolean =>
  Object.keys(MOUNTS).some((mount) => (mount.endsWith('/') ? path.startsWith(mount) : path === mount));

/** The operations of the mounts in openapi.json. */
const mounted = Object.entries(committedDocument<Document>().paths)
  .filter(([path]) => isMounted(path))
  .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));

describe('every route', () => {
  const app = sharedApp();
  let routes: Route[];

  beforeAll(() => {
    routes = routesOf(app);
  });

  it('declares who may call it', () => {
    expect(routes.length).toBeGreaterThan(40);
    expect(routes.filter((route) => !route.rule).map((route) => route.label)).toEqual([]);
  });

  it('requires a token, except the few public routes', () => {
    const open = routes.filter((route) => route.rule?.kind === 'public').map((route) => route.label);
    expect(open.sort()).toEqual([
      'GET /.well-known/jwks.json',
      'GET /.well-known/oauth-authorization-server',
      'GET /.well-known/oauth-protected-resource',
      'GET /.well-known/oauth-protected-resource/mcp',
      'GET /health/live',
      'GET /health/ready',
      'GET /llms.txt',
      'GET /openapi.json',
      'POST /registry/v1/tokens',
    ]);
  });

  it('requires a workspace and a role in evaluation and telemetry', () => {
    const scoped = routes.filter((route) => /^\w+ \/(eval|telemetry)\//.test(route.label));
    expect(scoped.length).toBeGreaterThan(20);
    expect(scoped.filter((route) => !route.inWorkspace).map((route) => route.label)).toEqual([]);
    expect(scoped.filter((route) => route.rule?.kind !== 'roles').map((route) => route.label)).toEqual([]);
  });

  it('requires the role evaluator to archive, score or cancel in evaluation', () => {
    const guarded = routes.filter((route) => /^POST \/eval\/.*\/(archive|score|cancel)$/.test(route.label));
    expect(guarded.length).toBeGreaterThanOrEqual(3);
    for (const { rule } of guarded) expect(rule).toEqual({ kind: 'roles', anyOf: ['evaluator'] });
  });

  it('returns the workspace_id that replays check if it changes a resource of some workspace', () => {
    const { paths, components } = committedDocument<Document>();
    const changes = routes.filter(
      ({ label, rule, isRepeatable }) =>
        /^(POST|PATCH) /.test(label) && rule?.kind === 'roles_somewhere' && !isRead(rule) && isRepeatable,
    );
    expect(changes.length).toBeGreaterThan(20);
    const withoutWorkspace = changes.filter(({ label }) => {
      const [method = '', path = ''] = label.split(' ');
      const { responses } = paths[path.replace(/:(\w+)/g, '{$1}')]![method.toLowerCase()]!;
      return Object.entries(responses).some(([status, { content }]) => {
        const name = content?.['application/json']?.schema.$ref?.split('/').at(-1) ?? '';
        return status.startsWith('2') && !('workspace_id' in (components.schemas[name]?.properties ?? {}));
      });
    });
    // their responses have a fixed form, so the controllers pass the workspace to the Reply
    expect(withoutWorkspace.map(({ label }) => label)).toEqual([
      'POST /registry/v1/apps/:app/reconcile',
      'POST /mcp/v1/servers/:server_id/test',
      'POST /mcp/v1/servers/:server_id/refresh',
    ]);
  });

  it('belongs to a controller or to one of the few mounts', () => {
    const adapter = app.app.getHttpAdapter() as unknown as ServiceAdapter;
    expect(adapter.mounts).toEqual(Object.keys(MOUNTS));
    // a mount serves all requests below its path, so a route there would never be reached
    expect(routes.filter(({ label }) => isMounted(label.split(' ')[1]!))).toEqual([]);
    const expected = Object.entries(MOUNTS).flatMap(([path, methods]) =>
      methods.map((method) => `${method} ${path.endsWith('/') ? `${path}{api_id}/{path}` : path}`),
    );
    expect([...mounted].sort()).toEqual(expected.sort());
  });

  it('limits its body if it is a POST that only selects', () => {
    const selections = routes.filter(({ label, rule }) => label.startsWith('POST ') && isRead(rule));
    expect(Object.fromEntries(selections.map(({ label, limit }) => [label, limit]))).toEqual({
      // its tools check the roles of the corresponding operations
      'POST /mcp': 1024 * 1024,
      'POST /registry/v1/search': 256 * 1024,
      'POST /telemetry/v1/spans/stats/query': 64 * 1024,
      'POST /telemetry/v1/traces/exists': 64 * 1024,
      'POST /telemetry/v1/traces/stats/query': 64 * 1024,
      'POST /eval/v1/datasets/search': 64 * 1024,
      'POST /eval/v1/experiments/search': 64 * 1024,
      'POST /eval/v1/experiments/:experiment_id/gate': 64 * 1024,
      'POST /eval/v1/experiments/:experiment_id/traces/stats/query': 64 * 1024,
      'POST /eval/v1/scores/stats/query': 64 * 1024,
    });
  });

  it('rejects a caller without a token', async () => {
    const closed = routes.filter((route) => route.rule?.kind !== 'public').map(({ label }) => label);
    for (const label of [...closed, ...mounted]) {
      const [method, path] = label.split(' ') as [string, string];
      const answer = await app.api().request(method, path.replace(/:\w+|\{\w+\}/g, 'x'));
      const code = method === 'HEAD' ? 'token_missing' : (answer.body as { code: string }).code;
      expect([label, answer.status, code]).toEqual([label, 401, 'token_missing']);
    }
  });
});
