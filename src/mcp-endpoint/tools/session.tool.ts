import { type EndpointTool, objectOf, READS, STRING, WORKSPACE_INPUT } from './tool';

/** The former name of the tool that opens sessions. It is not listed, but still works. */
export const EARLIER_SESSION_TOOL = 'registry__initialise';

/** The tool that opens a session. `ToolCalls` runs it, because it needs no workspace. Every caller may use it. */
export const SESSION_TOOL: EndpointTool['listed'] = {
  name: 'mcp__initialise',
  title: 'Open a session',
  description:
    'Opens a session in a workspace and returns the session_handle that all other tools take. Call it first, once per conversation. If you have access to several workspaces, the error lists them: call again with the workspace_id of the right one.',
  inputSchema: objectOf(
    {
      workspace_id: {
        ...WORKSPACE_INPUT.workspace_id,
        description: 'The workspace to work in. Omit it if you do not know it.',
      },
    },
    [],
  ),
  outputSchema: objectOf({
    session_handle: { ...STRING, description: 'Pass it to every other tool.' },
    workspace_id: STRING,
    org_id: STRING,
    expires_at: {
      ...STRING,
      format: 'date-time',
      description: 'Call mcp__initialise again after this time.',
    },
    instructions: { ...STRING, description: 'How to use the tools.' },
  }),
  annotations: READS,
};
