/** The metadata of a protected resource (RFC 9728, section 2). */
export class ProtectedResourceDto {
  /** The URL of the MCP endpoint. */
  resource!: string;
  /** The issuers whose tokens the service accepts: this service, then the issuers that the operator trusts. */
  authorization_servers!: string[];
  bearer_methods_supported!: string[];
  resource_name!: string;
  resource_documentation!: string;
}
