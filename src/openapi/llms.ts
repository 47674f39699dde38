import type { Document } from './operation';

/** Returns the index of the API for language models, in the format of llmstxt.org. */
export function llmsTextOf({ info, tags = [], paths }: Document): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId = '', summary = '', tags: own = [] }]) => ({
      tag: own[0],
      line: `- [${operationId}](/openapi.json?operation=${operationId}): ${method.toUpperCase()} ${path}: ${summary}`,
    })),
  );
  const sections = tags.map(({ name, description = '' }) => {
    const lines = operations.filter(({ tag }) => tag === name).map(({ line }) => line);
    return [`## ${name}`, description, lines.join('\n')].filter(Boolean).join('\n\n');
  });
  return `${[HEAD(String(info.title)), ...sections].join('\n\n')}\n`;
}

const HEAD = (title: string): string => `# ${title}

> Registry, store and evaluation service for teams that build AI agents: one HTTP/JSON API.

Each line below names an operation: its id, method, path and summary. Its link returns an OpenAPI 3.1 document with this operation only: parameters, bodies, responses, error codes and roles.

Send an API key or a JWT as \`Authorization: Bearer …\`, and the id of a workspace as \`X-Service-Workspace-Id\`. Errors are problem details (RFC 9457) with a \`code\`; \`detail\` says what to change.

## Documentation

- [The whole document](/openapi.json): OpenAPI 3.1, with the conventions of all operations in \`info.description\`
- [API reference](/docs): the same document as a page for people
- [TypeScript client](/docs/clients/agent-registry.tgz): install it with \`npm install\` and this URL; it has a typed method \`client.api.<operation id>\` for each operation`;
