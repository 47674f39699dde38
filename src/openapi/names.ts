import type { OpenAPIObject } from '@nestjs/swagger';

/** Nouns of operation ids that differ from the name of the controller. */
const NOUNS: Record<string, string> = {
  AuditLog: 'AuditEntry',
  Check: 'McpServer',
  Org: 'OwnOrg',
  PlatformOrg: 'Org',
  RecordExport: 'Record',
  RecordImport: 'Record',
  Server: 'McpServer',
  Tool: 'McpTool',
  ToolVersion: 'McpToolVersion',
};

/** Verbs of operation ids that differ from the name of the handler. */
const VERBS: Record<string, string> = { patch: 'update', put: 'set' };

/** Verbs that act on many resources at once, and take the noun in the plural. */
const PLURAL_VERBS = new Set(['list', 'search', 'import', 'export', 'ingest']);

/** Operation ids that do not follow the pattern of verb and noun. */
const OPERATION_IDS: Record<string, string> = {
  'Acquisition.create': 'acquireStoreItem',
  'Agreement.agreement': 'getScorerAgreement',
  'AnnotationItem.listAnnotators': 'listAnnotators',
  'AnnotationItem.next': 'claimAnnotationItem',
  'AnnotationQueue.agreement': 'getAnnotationQueueAgreement',
  'Comparison.compare': 'compareExperiments',
  'Health.live': 'getLiveness',
  'Health.ready': 'getReadiness',
  'Gateway.chat': 'createChatCompletion',
  'Gateway.embeddings': 'createEmbeddings',
  'Gateway.messages': 'createModelMessage',
  'Gateway.responses': 'createModelResponse',
  'GatewayKey.getCurrent': 'getCurrentGatewayKey',
  'Jwks.keys': 'getJwks',
  'Mcp.serve': 'runMcpRequest',
  'Me.describe': 'getMe',
  'ModelUsage.list': 'listModelUsage',
  'RegistryListing.getVersion': 'getRegistryServerVersion',
  'RegistryListing.list': 'listRegistryServers',
  'RegistryListing.listVersions': 'listRegistryServerVersions',
  'FrozenRegistryListing.getVersion': 'getFrozenRegistryServerVersion',
  'FrozenRegistryListing.list': 'listFrozenRegistryServers',
  'FrozenRegistryListing.listVersions': 'listFrozenRegistryServerVersions',
  'Record.createFromTraces': 'createRecordsFromTraces',
  'ScoreBatch.scoreExperiment': 'scoreExperiment',
  'Scoring.score': 'runScorer',
  'Search.search': 'searchRegistry',
  'ServerImport.import': 'importMcpServer',
  'TraceDeletions.delete': 'deleteTraces',
  'TraceExistence.check': 'checkTraces',
  'ToolVersion.compare': 'compareMcpToolVersions',
};

/**
 * Returns the id of an operation: a verb, the noun of its controller, and the rest of the handler's name.
 * `DatasetController.get` is `getDataset`, `ResultController.list` is `listResults`, `RecordController.createBulk` is
 * `createRecordsBulk`, and `ScorerController.listVersions` is `listScorerVersions`.
 */
export function operationIdOf(controller: string, handler: string): string {
  const name = controller.replace(/Controller$/, '');
  const listed = OPERATION_IDS[`${name}.${handler}`];
  if (listed !== undefined) return listed;
  const [, action = handler, rest = ''] = /^([a-z]+)(.*)$/.exec(handler) ?? [];
  const noun = NOUNS[name] ?? name;
  const isPlural = rest === 'Bulk' || (rest === '' && PLURAL_VERBS.has(action));
  return `${VERBS[action] ?? action}${isPlural ? plural(noun) : noun}${rest}`;
}

/** Returns a name in PascalCase: `dataset_id` and `Dataset-Id` are `DatasetId`. */
export const pascalCase = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

const plural = (noun: string): string =>
  /[^aeou]y$/i.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}${/ch$/.test(noun) ? 'es' : 's'}`;

/** Names of schemas that differ from the name of the class without its suffix `Dto`. */
const SCHEMAS: Record<string, string> = {
  FileDto: 'StoredFile', // `File` is a built-in type of TypeScript
  ProblemDto: 'ProblemDetails',
  RecordDto: 'DatasetRecord', // `Record` is a built-in type of TypeScript
  ScoreRequestDto: 'ScoringRequest',
};

const REFERENCE = /"#\/components\/schemas\/([^"/]+)"/g;

/**
 * Removes the suffix `Dto` from the names of schemas, and from all references to them. Throws if two classes have the same
 * name without it.
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
    throw new Error(`Several schemas have the same name: ${collisions(schemas, nameOf)}`);
  named.components = { ...named.components, schemas: Object.fromEntries(plain) };
  return named;
}

const collisions = (schemas: [string, unknown][], nameOf: (schema: string) => string): string => {
  const names = schemas.map(([schema]) => nameOf(schema));
  return names.filter((name, index) => names.indexOf(name) !== index).join(', ');
};
