\echo Use "ALTER EXTENSION flakeid UPDATE TO '0.8.0'" to load this file. \quit

SELECT flakeid_require_library('0.8.0'::pg_catalog.text);
