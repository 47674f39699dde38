import type { OpenAPIObject } from '@nestjs/swagger';

/** Nouns of operations that differ from the name of their controller. */
const NOUNS: Record<string, string> = {
  AuditLog: 'AuditEntry',
  HumanScore: 'Score',
  Org: 'OwnOrg',
  PlatformOrg: 'Org',
  RecordTransfer: 'Record',
  Server: 'McpServer',
  Tool: 'McpTool',
};

/** Verbs of operations that differ from the name of their handler. */
const VERBS: Record<string, string> = { patch: 'update', put: 'set' };

/** Verbs that act on many resources of a kind at once. */
const OF_MANY = new Set(['list', 'search', 'import', 'export', 'ingest']);

/** Ids of operations that no verb and noun make up. */
const OPERATION_IDS: Record<string, string> = {
  'Agreement.agreement': 'getScorerAgreement',
  'Comparison.compare': 'compareExperiments',
  'Health.live': 'getLiveness',
  'Health.ready': 'getReadiness',
  'Jwks.keys': 'getJwks',
  'Me.describe': 'getMe',
  'Scoring.score': 'runScorer',
  'Search.search': 'searchRegistry',
};

/**
 * Returns the id of an operation: a verb, the noun of its controller, and what the handler adds to the verb.
 * `DatasetController.get` is `getDataset`, `ResultController.list` is `listResults`, `RecordController.createBulk` is
 * `createRecordsBulk`, and `ScorerController.listVersions` is `listScorerVersions`.
 */
export function operationIdOf(controller: string, handler: string): string {
  const name = controller.replace(/Controller$/, '');
  const listed = OPERATION_IDS[`${name}.${handler}`];
  if (listed !== undefined) return listed;
  const [, action = handler, rest = ''] = /^([a-z]+)(.*)$/.exec(handler) ?? [];
  const noun = NOUNS[name] ?? name;
  const isOfMany = rest === 'Bulk' || (rest === '' && OF_MANY.has(action));
  return `${VERBS[action] ?? action}${isOfMany ? plural(noun) : noun}${rest}`;
}

const plural = (noun: string): string => (/[^aeou]y$/i.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`);

/** Names of schemas that are more than their class without the suffix `Dto`. */
const SCHEMAS: Record<string, string> = {
  ProblemDto: 'ProblemDetails',
  RecordDto: 'DatasetRecord', // `Record` is a type of TypeScript's own
  ScoreDto: 'ScoringRequest',
};

const REFERENCE = /"#\/components\/schemas\/([^"/]+)"/g;

/**
 * Returns the document with schemas named as readers know them: without the suffix `Dto` of their classes. Every
 * reference follows. Throws where two classes would give one name.
 */
export function withPlainSchemaNames(document: OpenAPIObject): OpenAPIObject {
  const nameOf = (schema: string): string => SCHEMAS[schema] ?? schema.replace(/Dto$/, '');
  const named = JSON.parse(
    JSON.stringify(document).replace(
      REFERENCE,
      (_, schema: string) => `"#/components/schemas/${nameOf(schema)}"`,
    ),
  ) as OpenAPIObject;
  const schemas = Object.entries(named.components?.schemas ?? {});
  const plain = new Map(schemas.map(([schema, definition]) => [nameOf(schema), definition]));
  if (plain.size < schemas.length)
    throw new Error(`Two schemas have one name: ${collision(schemas, nameOf)}`);
  named.components = { ...named.components, schemas: Object.fromEntries(plain) };
  return named;
}

const collision = (schemas: [string, unknown][], nameOf: (schema: string) => string): string => {
  const names = schemas.map(([schema]) => nameOf(schema));
  return names.filter((name, index) => names.indexOf(name) !== index).join(', ');
};
