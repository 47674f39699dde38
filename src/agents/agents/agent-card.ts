import type { RawJson } from '#platform/json';
import { compileJsonSchema } from '#platform/json-schema';
import { type FieldError, problem } from '#platform/problem';
import type { DescribedSkill } from '../../skills';
import type { AgentContent } from './agent.entity';

/** The version of the A2A protocol that defines the cards. */
const A2A_VERSION = '1.0';

const TEXT = { type: 'string', minLength: 1, maxLength: 10_000 };
const URL = { type: 'string', maxLength: 2_048, pattern: '^https?://[^\\s]+$' };
/** A URL of any scheme, or `host:port`. */
const ADDRESS = {
  type: 'string',
  maxLength: 2_048,
  pattern: '^([a-z][a-z0-9+.-]*://[^\\s]+|[^\\s/]+:[0-9]{1,5})$',
};
const MEDIA_TYPES = { type: 'array', items: TEXT, minItems: 1 };
const objectOf = (required: readonly string[], properties: object) => ({
  type: 'object',
  required,
  properties,
  additionalProperties: true,
});

/** The members of a card that an agent can set (`AgentCard` in section 4.4.1 of A2A 1.0). */
const MEMBERS = {
  supportedInterfaces: {
    description: 'Where the agent can be reached, the preferred address first.',
    type: 'array',
    items: objectOf(['url', 'protocolBinding', 'protocolVersion'], {
      url: { ...ADDRESS, description: 'An absolute URL, or `host:port` for gRPC.' },
      protocolBinding: {
        ...TEXT,
        description: '`JSONRPC`, `GRPC`, `HTTP+JSON`, or the URI of another binding.',
      },
      protocolVersion: {
        ...TEXT,
        pattern: '^[0-9]{1,4}\\.[0-9]{1,4}$',
        description: 'The version of A2A at this address.',
      },
      tenant: TEXT,
    }),
    minItems: 1,
  },
  provider: objectOf(['organization', 'url'], { organization: TEXT, url: URL }),
  documentationUrl: URL,
  iconUrl: URL,
  capabilities: objectOf([], {
    streaming: { type: 'boolean' },
    pushNotifications: { type: 'boolean' },
    extendedAgentCard: { type: 'boolean' },
    extensions: { type: 'array', items: objectOf(['uri'], { uri: URL }) },
  }),
  securitySchemes: { type: 'object', additionalProperties: objectOf([], {}) },
  securityRequirements: { type: 'array', items: objectOf([], {}) },
  defaultInputModes: { ...MEDIA_TYPES, description: 'Media types that the agent accepts.' },
  defaultOutputModes: { ...MEDIA_TYPES, description: 'Media types that the agent returns.' },
  skills: {
    type: 'array',
    items: objectOf(['id', 'name', 'description', 'tags'], {
      id: TEXT,
      name: TEXT,
      description: { type: 'string' },
      tags: { type: 'array', items: TEXT, minItems: 1 },
    }),
    minItems: 1,
  },
};

/** The schema of a complete card. */
export const AGENT_CARD = {
  ...objectOf(
    [
      'name',
      'description',
      'version',
      'supportedInterfaces',
      'capabilities',
      'defaultInputModes',
      'defaultOutputModes',
      'skills',
    ],
    {
      name: TEXT,
      description: { type: 'string' },
      version: { ...TEXT, description: 'The number of the version of the agent.' },
      ...MEMBERS,
    },
  ),
  description: `An agent card of A2A ${A2A_VERSION}.`,
};

const VALIDATOR = compileJsonSchema({ properties: MEMBERS, additionalProperties: false });

/** Returns what is wrong with the `card` of an agent. */
export const cardFaults = (card: RawJson, pointer: string): FieldError[] =>
  VALIDATOR.validate(card.parse()).map((fault) => ({
    pointer: pointer + fault.pointer,
    detail: fault.detail,
  }));

/** Throws 400 for a `card` with unknown or malformed members. */
export function checkCard(card: RawJson | undefined): void {
  const faults = card ? cardFaults(card, '/card') : [];
  if (faults.length > 0) throw problem.invalidFields(faults);
}

type CardSource = Pick<AgentContent, 'display_name' | 'description' | 'card'> & {
  agent_id: string;
  name: string;
  version_ordinal: number;
};

/** The binding of the sessions of this service. It is not a binding of A2A, which needs a runtime. */
const SESSIONS_BINDING = 'urn:agent-registry:sessions';

/**
 * Returns the card of an agent. Required lists of a card have at least one element (section 5.7): an agent without skills is
 * itself the skill, and one without an address of its own has the address of its sessions.
 *
 * @param baseUrl returns the URL at which clients reach this service
 */
export function agentCard(
  agent: CardSource,
  skills: readonly DescribedSkill[],
  baseUrl: () => string,
): object {
  const set = agent.card.parse() as Partial<typeof MEMBERS>;
  const name = agent.display_name ?? agent.name;
  const description = agent.description ?? '';
  const own = { id: agent.name, name, description, tags: ['agent'] };
  const shown = skills.map((skill) => ({
    id: skill.skill_id,
    name: skill.name,
    description: skill.description,
    tags: ['skill'],
  }));
  return {
    name,
    description,
    version: String(agent.version_ordinal),
    supportedInterfaces: set.supportedInterfaces ?? [
      {
        url: `${baseUrl()}/agent/v1/agents/${agent.agent_id}/sessions`,
        protocolBinding: SESSIONS_BINDING,
        protocolVersion: A2A_VERSION,
      },
    ],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: shown.length > 0 ? shown : [own],
    ...set,
  };
}
