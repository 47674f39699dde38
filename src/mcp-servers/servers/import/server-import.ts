import { isJsonObject } from '#platform/json';
import { urlFault } from '#platform/outbound';
import { type FieldError, problem } from '#platform/problem';
import { NameConflict } from '../../../resources';
import { type GivenAuth, SERVER_AUTH } from '../server-auth';
import { URL_MAX } from '../server-auth.dto';
import type { CreateServerDto } from '../server.dto';
import { withoutQuery } from '../server.entity';
import type { HiddenParts } from '../server-urls';
import type { ImportServerDto } from './server-import.dto';
import { type Remote, type ServerHeader, type ServerJson, ServerJsonReader } from './server-json';
import { explained, TemplateValues, variablesOf } from './template-values';

/** The maximum number of faults that one response reports. */
const FAULTS_MAX = 100;

/** Labels of a host name, and a port. */
const HOST_PART = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::\d{1,5})?$/i;

/** The member of a server's metadata that holds its origin in the public registry. */
export const ORIGIN = 'mcp_registry';

/** Returns the `server.json` of a body, with its pointer. The public registry's API wraps it in an object. */
const serverJsonIn = ({ server }: ImportServerDto): [Record<string, unknown>, string] =>
  server.name === undefined && isJsonObject(server.server)
    ? [server.server, '/server/server']
    : [server, '/server'];

/** A server to register. The query of its URL has placeholders for the values of variables. */
export interface ImportedServer {
  server: CreateServerDto;
  parts: HiddenParts;
}

/** Returns the server to register. Errors: 400 for a `server.json` without a usable remote, and for missing values. */
export function importedServer(dto: ImportServerDto): ImportedServer {
  const index = dto.remote ?? 0;
  const reader = new ServerJsonReader();
  const [json, pointer] = serverJsonIn(dto);
  const server = reader.server(json, pointer);
  const remote = reader.remote(json, index, pointer);
  const filled = remote && new RemoteFiller(reader, remote, dto, `${pointer}/remotes/${index}`).fill();
  if (!filled || reader.faults.length > 0) throw problem.invalidFields(reader.faults.slice(0, FAULTS_MAX));
  const { parts, ...target } = filled;
  return {
    server: {
      workspace_id: dto.workspace_id,
      name: dto.name ?? server.name.split('/')[1]!,
      description: server.description,
      metadata: { [ORIGIN]: originOf(server) },
      ...target,
    },
    parts,
  };
}

/** Adds advice to the 409 for a name that comes from `server.json`. Returns other errors unchanged. */
export const withNameAdvice = (error: unknown, { name }: ImportServerDto): unknown =>
  error instanceof NameConflict && name == null
    ? problem.conflict(`${error.detail} Choose another name with \`name\`.`)
    : error;

function originOf({ name, version, title, websiteUrl, repository }: ServerJson): object {
  return {
    name,
    version,
    ...(title !== null && { title }),
    ...(websiteUrl !== null && { websiteUrl }),
    ...(repository && { repository }),
  };
}

/** Fills the templates of a remote with the values of a body. */
class RemoteFiller {
  private readonly values: TemplateValues;
  /** A variable whose value the URL contains verbatim. */
  private verbatim: string | null = null;
  private isAuthValueUsed = false;
  /** The pointers of members of `auth` whose values come from elsewhere. */
  private readonly sources = new Map<string, string>();

  constructor(
    private readonly reader: ServerJsonReader,
    private readonly remote: Remote,
    private readonly body: ImportServerDto,
    private readonly pointer: string,
  ) {
    this.values = new TemplateValues(reader, body.variables ?? {});
  }

  fill(): Pick<CreateServerDto, 'url' | 'transport' | 'auth'> & { parts: HiddenParts } {
    const { url, parts } = this.url();
    const auth = this.auth();
    this.values.checkUsed();
    if (auth) this.reader.faults.push(...this.faultsOf(auth));
    return { url, parts, transport: this.remote.transport, auth };
  }

  private url(): { url: string; parts: HiddenParts } {
    const { url: template, variables } = this.remote;
    const queryAt = template.indexOf('?');
    const secretNames = this.secretNames();
    for (const name of variablesOf(template.split('?')[0]!)) {
      if (!secretNames.has(name)) continue;
      const detail = `has the secret variable {${name}} before its query, where searches and logs would show it. Choose another remote.`;
      this.reader.fault(`${this.pointer}/url`, detail);
    }
    const missing = this.values.missing(template, variables);
    this.values.require(missing, variables, 'the URL of the remote');
    const parts: Record<string, string> = {};
    const url = this.values.fill(
      template,
      variables,
      ({ value, name }, offset) => this.urlPart(value, name, template, offset),
      (name, text, offset) => {
        if (queryAt >= 0 && offset > queryAt) parts[name] = text;
      },
    );
    if (this.reader.faults.length === 0) this.checkUrl(url);
    return { url: queryAt < 0 ? url : withoutQuery(url) + template.slice(queryAt), parts };
  }

  /**
   * Returns the names of the variables that are secret, in the URL or in a header, because a body has only one value for each
   * name.
   */
  private secretNames(): ReadonlySet<string> {
    const { variables, headers } = this.remote;
    const declared = [variables, ...headers.map((header) => header.variables)].flatMap((inputs) => [
      ...inputs,
    ]);
    return new Set([
      ...declared.flatMap(([name, { isSecret }]) => (isSecret ? [name] : [])),
      ...headers.flatMap(({ isSecret, value }) => (isSecret && value !== null ? variablesOf(value) : [])),
    ]);
  }

  /** Checks the filled URL. A fault points to the value that the URL contains verbatim, if there is one. */
  private checkUrl(url: string): void {
    const fault = url.length > URL_MAX ? `must have at most ${URL_MAX} characters` : urlFault(url);
    if (fault === null) return;
    const isTemplateInvalid = !/^(?:https?:\/\/|\{)/i.test(this.remote.url);
    if (isTemplateInvalid || this.verbatim === null) this.reader.fault(`${this.pointer}/url`, fault);
    else this.values.fault(this.verbatim, `makes the URL invalid. The URL ${fault}`);
  }

  /**
   * Returns the part of the URL for a value. The value is encoded so that it cannot change the structure of the URL,
   * except at the start of the URL, in the host, and as the whole query.
   */
  private urlPart(value: string, name: string, template: string, offset: number): string {
    const [before, after] = [template.slice(0, offset), template.slice(offset + name.length + 2)];
    const isInHost = /^[^/?]*:\/\/[^/?]*$/.test(before);
    const isQuery = before.endsWith('?') && after === '';
    if (before !== '' && !isInHost && !isQuery) {
      const isDotSegment = !before.includes('?') && /^\.\.?$/.test(value);
      if (isDotSegment) this.values.fault(name, 'must not be a dot segment');
      return encodeURIComponent(value);
    }
    this.verbatim = name;
    if (isInHost && !HOST_PART.test(value)) this.values.fault(name, 'must be a part of a host name');
    if (before === '' && after.startsWith('://')) {
      if (!/^https?$/i.test(value)) this.values.fault(name, 'must be http or https');
    } else if (before === '' && after !== '' && /[?#]/.test(value)) {
      this.values.fault(name, 'must not have a query, because the URL continues after it');
    }
    return value;
  }

  private auth(): GivenAuth | null {
    const { auth } = this.body;
    const required = this.remote.headers.filter((header) => header.isRequired || header.value !== null);
    if (auth?.type !== undefined) {
      const complete = { ...auth, type: auth.type };
      const unsent = required.filter(({ name }) => !isSentBy(complete, name));
      if (unsent.length > 0) {
        this.reader.fault('/auth', `does not send the header ${namesOf(unsent)}, which the remote requires`);
      }
      return complete;
    }
    for (const member of MEMBERS_OF_OAUTH) {
      if (auth?.[member] != null) this.reader.fault(`/auth/${member}`, 'is only allowed with `type`');
    }
    const optional = auth?.value == null && auth?.header == null ? [] : this.remote.headers;
    const possible = (required.length > 0 ? required : optional).filter(
      ({ name }) => auth?.header == null || name.toLowerCase() === auth.header.toLowerCase(),
    );
    this.checkOneHeader(required.length > 1 ? required : possible);
    const [header] = possible;
    const declaredAuth = header && this.authOf(header);
    if (auth?.header != null && !header) {
      const detail =
        required.length > 0
          ? `must be ${namesOf(required)}, which the remote requires`
          : 'requires a `type`, because the remote does not declare this header';
      this.reader.fault('/auth/header', detail);
    } else if (auth?.value != null && !this.isAuthValueUsed) {
      const detail = header
        ? `is not needed, because the remote sets the header ${header.name} itself. Remove it.`
        : 'requires a `type`, because the remote declares no header';
      this.reader.fault('/auth/value', detail);
    }
    return declaredAuth ?? null;
  }

  private checkOneHeader(headers: readonly ServerHeader[]): void {
    if (headers.length <= 1) return;
    const advice = headers.every(({ isRequired }) => !isRequired)
      ? 'Name it in `auth.header`.'
      : 'Choose another remote.';
    const detail = `has the headers ${namesOf(headers)}, but the service can only send one. ${advice}`;
    this.reader.fault(`${this.pointer}/headers`, detail);
  }

  /** Returns the faults of `auth`, with pointers to where the values come from. */
  private faultsOf(auth: GivenAuth): FieldError[] {
    return SERVER_AUTH.faults(auth, '/auth').map((fault) =>
      'pointer' in fault ? { ...fault, pointer: this.sources.get(fault.pointer) ?? fault.pointer } : fault,
    );
  }

  private authOf(header: ServerHeader): GivenAuth | null {
    const value = this.headerValue(header);
    if (value === null) return null;
    if (this.body.auth?.header == null) this.sources.set('/auth/header', `${header.pointer}/name`);
    const isAuthorization = /^authorization$/i.test(header.name);
    // Without a template, the scheme `Bearer` is optional in the value.
    const form = header.value === null ? /^(?:Bearer +)?(\S+)$/i : /^Bearer +(\S+)$/i;
    const bearer = isAuthorization ? form.exec(value) : null;
    return bearer ? { type: 'bearer', value: bearer[1]! } : { type: 'header', header: header.name, value };
  }

  private headerValue(header: ServerHeader): string | null {
    const authValue = this.body.auth?.value ?? null;
    if (header.value === null) {
      this.isAuthValueUsed = authValue !== null;
      const value = authValue ?? header.default;
      const pointer = authValue === null ? `${header.pointer}/default` : '/auth/value';
      this.sources.set('/auth/value', pointer);
      if (value === null) return this.requireValue(header);
      this.values.checkChoice(value, header, pointer);
      return value;
    }
    const { value: template, variables } = header;
    const missing = this.values.missing(template, variables);
    if (missing.length === 1 && authValue !== null) {
      this.values.set(missing[0]!, authValue, '/auth/value');
      this.isAuthValueUsed = true;
    } else {
      this.values.require(missing, variables, `the header ${header.name}`);
      // `auth.value` could be meant for any of them.
      this.isAuthValueUsed = missing.length > 1;
      if (missing.length > 0) return null;
      this.sources.set('/auth/value', `${header.pointer}/value`);
    }
    return this.values.fill(template, variables, ({ value, pointer }, offset) => {
      this.sources.set('/auth/value', pointer);
      const hasScheme = /^Bearer +$/i.test(template.slice(0, offset));
      return hasScheme ? value.replace(/^Bearer +/i, '') : value;
    });
  }

  private requireValue({ name, description }: ServerHeader): null {
    return this.reader.fault(
      '/auth/value',
      `is required: the value of the header ${name}${explained(description)}`,
    );
  }
}

const MEMBERS_OF_OAUTH = ['token_url', 'client_id', 'client_secret', 'scope'] as const;

const isSentBy = ({ type, header }: GivenAuth, name: string): boolean =>
  type === 'header'
    ? header?.toLowerCase() === name.toLowerCase()
    : type !== 'none' && /^authorization$/i.test(name);

const namesOf = (headers: readonly ServerHeader[]): string =>
  headers
    .slice(0, 10)
    .map(({ name }) => name)
    .join(', ');
