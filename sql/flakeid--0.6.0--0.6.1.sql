\echo Use "ALTER EXTENSION flakeid UPDATE TO '0.6.1'" to load this file. \quit

SELECT flakeid_require_library('0.6.1');
