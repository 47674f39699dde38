import { readFileSync } from 'node:fs';
import { committedDocument } from '#testing';
import { operationIdOf, withPlainSchemaNames } from '../../src/openapi/names';

interface Document {
  paths: Record<string, Record<string, { operationId: string }>>;
  components: { schemas: Record<string, object> };
}

/** The verbs that the operation ids of each method begin with. */
const VERBS: Record<string, RegExp> = {
  GET: /^(get|list|export|compare|forward)[A-Z]/,
  HEAD: /^forward[A-Z]/,
  OPTIONS: /^forward[A-Z]/,
  POST: /^(create|forward|archive|restore|search|import|ingest|plan|query|cancel|check|exchange|reconcile|revoke|run|acquire|upgrade|withdraw|review|refresh|test|claim|score|skip|count)[A-Z]|^deleteTraces$/,
  PUT: /^(set|forward)[A-Z]/,
  PATCH: /^(update|forward)[A-Z]/,
  DELETE: /^(delete|remove|forward)[A-Z]/,
};

describe('the names in openapi.json', () => {
  const { paths, components } = committedDocument<Document>();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => ({
      method: method.toUpperCase(),
      path,
      operationId,
    })),
  );

  it('match operation-ids.txt, so that generated clients keep their method names', () => {
    const present = operations.map(({ method, path, operationId }) => `${operationId}: ${method} ${path}`);
    const listed = readFileSync('test/contract/operation-ids.txt', 'utf8').trimEnd().split('\n');
    expect(present.sort()).toEqual(listed);
  });

  it('are unique, and begin with a verb that suits the method', () => {
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    const others = operations.filter(
      ({ method, operationId }) => !VERBS[method]!.test(operationId) || !/^[A-Za-z]+$/.test(operationId),
    );
    expect(others).toEqual([]);
  });

  it('are plain nouns for schemas, without the suffix of the class', () => {
    const names = Object.keys(components.schemas);
    expect(names).toEqual(
      expect.arrayContaining(['Dataset', 'CreateDataset', 'PageMeta', 'ProblemDetails', 'DatasetRecord']),
    );
    expect(names.filter((name) => !/^[A-Z][A-Za-z0-9]*$/.test(name))).toEqual([]);
    expect(JSON.stringify(committedDocument())).not.toContain('Dto');
  });
});

describe('an operation id', () => {
  it.each([
    ['DatasetController', 'get', 'getDataset'],
    ['DatasetController', 'patch', 'updateDataset'],
    ['DatasetController', 'restore', 'restoreDataset'],
    ['DatasetController', 'search', 'searchDatasets'],
    ['MemberController', 'put', 'setMember'],
    ['ResultController', 'list', 'listResults'],
    ['RepositoryController', 'list', 'listRepositories'],
    ['RecordController', 'createBulk', 'createRecordsBulk'],
    ['ScorerController', 'listVersions', 'listScorerVersions'],
    ['HealthController', 'live', 'getLiveness'],
  ])('is derived from the controller and the handler: %s.%s is %s', (controller, handler, id) => {
    expect(operationIdOf(controller, handler)).toBe(id);
  });
});

describe('a schema name', () => {
  const document = (...names: string[]) =>
    ({
      openapi: '3.1.0',
      info: { title: 't', version: '1' },
      paths: {},
      components: {
        schemas: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/schemas/${name}` }])),
      },
    }) as const;

  it('loses its suffix, in references too', () => {
    expect(withPlainSchemaNames(document('PageDto', 'ProblemDto')).components?.schemas).toEqual({
      Page: { $ref: '#/components/schemas/Page' },
      ProblemDetails: { $ref: '#/components/schemas/ProblemDetails' },
    });
  });

  it('is rejected if two classes share it', () => {
    expect(() => withPlainSchemaNames(document('PageDto', 'Page'))).toThrow('the same name: Page');
  });
});
