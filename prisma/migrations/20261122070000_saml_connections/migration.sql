-- Identity providers that speak SAML. The earlier version fails only at such a connection.
ALTER TABLE "connections" DROP CONSTRAINT "connections_kind_is_known";
ALTER TABLE "connections" ADD CONSTRAINT "connections_kind_is_known" CHECK ("kind" IN ('oidc', 'saml'));
