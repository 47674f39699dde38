import { Client, type ClientOptions } from '#client';
import { newOrganization, type TestApp, type TestOrganization } from '#testing';

/** Returns a client of a new organization's admin, and the organization. */
export async function newClient(
  app: TestApp,
  options: ClientOptions = {},
): Promise<{ client: Client; org: TestOrganization }> {
  const org = await newOrganization(app);
  const apiKey = await org.token('admin');
  return { client: new Client({ url: app.url, apiKey, workspaceId: org.workspaceId, ...options }), org };
}
