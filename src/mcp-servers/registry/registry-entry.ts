import { isJsonObject, type RawJson } from '#platform/json';
import { cutText } from '#platform/json';
import type { ServerVersionRow } from '../servers/server.entity';
import { placeholdersIn } from '../servers/server-urls';
import type {
  RegistryEntryDto,
  RegistryHeaderDto,
  RegistryInputDto,
  RegistryRemoteDto,
  RegistryServerDto,
} from './registry-listing.dto';
import { ORIGIN } from '../servers/import/server-import';
import {
  LINK_MAX,
  REGISTRY_NAME_PATTERN,
  registryTransport,
  SERVER_SCHEMA,
  ServerJsonReader,
  TITLE_MAX,
} from '../servers/import/server-json';

const DESCRIPTION_MAX = 100;
/** Leaves room for the id: names have at most 200 characters. */
const NAMESPACE_MAX = 160;

/** A version of a server, with the current state of the server. */
export interface ListedServer extends Pick<
  ServerVersionRow,
  | 'server_id'
  | 'workspace_id'
  | 'version_ordinal'
  | 'version_id'
  | 'name'
  | 'description'
  | 'url'
  | 'transport'
  | 'auth_type'
  | 'auth_header'
> {
  /** When the version was created. */
  published_at: Date;
  /** When the version was created. For the latest version: when the server last changed. */
  updated_at: Date;
  archived_at: Date | null;
  is_latest: boolean;
  metadata: RawJson;
}

/** Returns the namespace of a service's servers: its host name with the labels in reverse order. */
export function namespaceOf(publicUrl: string | undefined): string {
  const host = publicUrl === undefined ? 'localhost' : new URL(publicUrl).hostname;
  const isAddress = /^[\d.]+$|:/.test(host);
  const name = isAddress ? host : host.split('.').filter(Boolean).reverse().join('.');
  return name.replace(/[^a-zA-Z0-9.-]/g, '-').slice(0, NAMESPACE_MAX);
}

export const versionOf = (ordinal: number): string => `1.0.${ordinal}`;

/** Returns the ordinal of a version, null for `latest`, or undefined for an invalid version. */
export function ordinalOf(version: string): number | null | undefined {
  if (version === 'latest') return null;
  const [, ordinal] = /^1\.0\.([1-9]\d{0,8})$/.exec(version) ?? [];
  return ordinal === undefined ? undefined : Number(ordinal);
}

/** Returns an entry of the listing. It contains no secret. */
export function toRegistryEntry(row: ListedServer, namespace: string): RegistryEntryDto {
  return {
    server: toServerJson(row, namespace),
    _meta: {
      'io.modelcontextprotocol.registry/official': {
        status: row.archived_at ? 'deleted' : 'active',
        statusChangedAt: row.archived_at ?? row.published_at,
        publishedAt: row.published_at,
        updatedAt: row.updated_at,
        isLatest: row.is_latest,
      },
    },
  };
}

function toServerJson(row: ListedServer, namespace: string): RegistryServerDto {
  const { server_id, workspace_id, version_id } = row;
  const origin = originIn(row.metadata);
  const imported_from = origin && { name: origin.name, version: origin.version };
  return {
    $schema: SERVER_SCHEMA,
    name: `${namespace}/${server_id}`,
    title: cutText(row.name, TITLE_MAX),
    description: shortDescription(row),
    version: versionOf(row.version_ordinal),
    ...(isLink(origin?.websiteUrl) && { websiteUrl: origin.websiteUrl }),
    ...(isLink(origin?.repository?.url) && { repository: origin.repository }),
    remotes: [remoteOf(row)],
    _meta: {
      'io.modelcontextprotocol.registry/publisher-provided': {
        server_id,
        workspace_id,
        version_id,
        imported_from,
      },
    },
  };
}

function shortDescription({ name, description }: ListedServer): string {
  const text = description?.trim() || name;
  return text.length <= DESCRIPTION_MAX ? text : `${cutText(text, DESCRIPTION_MAX - 1)}…`;
}

/** Returns the origin in the metadata of a server, or null if it is missing or invalid. Users can change it. */
function originIn(metadata: RawJson) {
  const { [ORIGIN]: source } = metadata.parse() as Record<string, unknown>;
  if (!isJsonObject(source)) return null;
  const reader = new ServerJsonReader();
  const origin = reader.server(source, '');
  return reader.faults.length === 0 && REGISTRY_NAME_PATTERN.test(origin.name) ? origin : null;
}

const isLink = (text: string | null | undefined): text is string =>
  text != null && text.length <= LINK_MAX && /^https?:\/\//i.test(text) && URL.canParse(text);

const SECRET: RegistryInputDto = { isRequired: true, isSecret: true };

function remoteOf({ transport, url, auth_type, auth_header }: ListedServer): RegistryRemoteDto {
  const remote: RegistryRemoteDto = { type: registryTransport(transport), url };
  const names = placeholdersIn(url);
  if (names.length > 0) {
    const description = 'A part of the query of the URL.';
    remote.variables = Object.fromEntries(names.map((name) => [name, { description, ...SECRET }]));
  }
  if (auth_type === 'bearer' || auth_type === 'oauth') remote.headers = [BEARER];
  if (auth_type === 'header' && auth_header !== null) remote.headers = [{ name: auth_header, ...SECRET }];
  return remote;
}

const BEARER: RegistryHeaderDto = {
  name: 'Authorization',
  value: 'Bearer {token}',
  variables: { token: SECRET },
  ...SECRET,
};
