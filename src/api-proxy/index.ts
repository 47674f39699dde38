export { ApiProxyEndpoint, PROXY_PREFIX } from './api-proxy.endpoint';
export { ApiProxyHttpModule } from './api-proxy.http.module';
export { PROXY_PATHS } from './proxy.openapi';
