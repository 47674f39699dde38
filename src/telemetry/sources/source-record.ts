import { createHash } from 'node:crypto';
import type { OtlpResource, OtlpScope } from '#otlp';
import { isName } from '../span-mapping/field.parser';

/** The resource and the instrumentation scope of records. Stored once, because many records share them. */
export interface Source {
  /** The first 128 bits of the SHA-256 of both, in hexadecimal. */
  id: string;
  /** JSON texts. */
  resource: string;
  scope: string;
}

/** A source in its workspace. */
export interface WorkspaceSource extends Source {
  workspaceId: string;
}

/** A record that has a source. */
export interface Sourced {
  workspaceId: string;
  source: Source;
}

/** Creates each source of an export once. A scope object belongs to one resource, so it identifies both. */
export class SourceCache {
  private readonly sources = new Map<OtlpScope, Source>();
  private readonly resources = new Map<OtlpResource, string>();

  sourceOf({ resource, scope }: { resource: OtlpResource; scope: OtlpScope }): Source {
    let source = this.sources.get(scope);
    if (!source) {
      const texts = { resource: this.textOf(resource), scope: scopeJson(scope) };
      const id = createHash('sha256').update(`${texts.resource}\n${texts.scope}`).digest('hex').slice(0, 32);
      source = { id, ...texts };
      this.sources.set(scope, source);
    }
    return source;
  }

  private textOf(resource: OtlpResource): string {
    let text = this.resources.get(resource);
    if (text === undefined) this.resources.set(resource, (text = resourceJson(resource)));
    return text;
  }
}

/** Returns the distinct sources of records, in the order of their keys. */
export function sourcesOf(records: readonly Sourced[]): WorkspaceSource[] {
  const sources = new Map<string, WorkspaceSource>();
  let last: Sourced | undefined;
  for (const record of records) {
    const { workspaceId, source } = record;
    const isSame = last?.source === source && last.workspaceId === workspaceId;
    if (!isSame) sources.set(sourceKey(workspaceId, source.id), { workspaceId, ...source });
    last = record;
  }
  return [...sources].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, source]) => source);
}

/** Returns a key that sorts like the pair of ids. */
export const sourceKey = (workspaceId: string, sourceId: string): string => `${workspaceId} ${sourceId}`;

const resourceJson = (resource: OtlpResource): string =>
  JSON.stringify({
    attributes: resource.attributes,
    dropped_attributes_count: resource.droppedAttributesCount,
    schema_url: resource.schemaUrl,
  });

const scopeJson = (scope: OtlpScope): string =>
  JSON.stringify({
    name: scope.name,
    version: scope.version,
    attributes: scope.attributes,
    dropped_attributes_count: scope.droppedAttributesCount,
    schema_url: scope.schemaUrl,
  });

/** Returns the `service.name` of a resource; null if it is missing or too long for a name. */
export function serviceNameOf({ attributes }: OtlpResource): string | null {
  const name = attributes['service.name'];
  return typeof name === 'string' && isName(name) ? name : null;
}
